#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "saved_data.h"
#include "text.h"
#include "train/evaluator.h"
#include "verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string run, data, split = "test";
  bool json = false;
};

void eval(const Options& options) {
  const SavedRun run = load_run(options.run);
  const SavedData data = load_for(run, options.data, options.split);
  const std::unique_ptr<Device> device = make_device(run.config.device);
  Program program(*run.network, loss_named(run.config.train.loss), *device, 256,
                  data.part->sparse());
  const Evaluation e =
      evaluate(*data.part, all_of(*data.part), program, *run.parameters, WallClock());
  const double rate = static_cast<double>(e.samples) / e.seconds;
  if (options.json) {
    const nlohmann::ordered_json json{{"data", data.splits.provenance}, {"split", options.split},
                                      {"samples", e.samples},           {"loss", e.loss},
                                      {"accuracy", e.accuracy},         {"seconds", e.seconds},
                                      {"samples_per_second", rate}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}", table({{"data", "part", "samples", "loss", "accuracy", "samples/s"},
                          {data.splits.provenance, options.split, with_commas(e.samples),
                           fmt::format("{:.4f}", e.loss), percent(e.accuracy),
                           with_commas(static_cast<int64_t>(rate))}}));
}

}  // namespace

void add_eval_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("eval", R"(Measure the loss and accuracy of a trained network.

Examples:
  lockstep eval runs/try1
  lockstep eval runs/try1 --data mnist --split train --json
)");
  verb->add_option("run", options->run, "folder of the run")->required();
  verb->add_option("--data", options->data, "another data set than the run's own");
  verb->add_option("--split", options->split, "which part")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { eval(*options); });
}

}  // namespace lockstep
