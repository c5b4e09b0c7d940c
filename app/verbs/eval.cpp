#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/with_commas.h"
#include "saved_data.h"
#include "text.h"
#include "train/evaluator.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string run, data, split = "test";
  bool json = false;
};

void eval(const Options& options) {
  const SavedRun run = open_run(options.run);
  const SavedData data = load_for(run, options.data, from_text<SplitPart>(options.split).value());
  const std::unique_ptr<Device> device = make_device(run.config.device);
  run.parameters->move_to(*device);
  // Language models have one target per position, so fewer samples per batch.
  const int64_t at_once = std::max<int64_t>(1, 256 / data.part->answers());
  Program program(*run.network, run.config.train.loss, *device, at_once, data.part->sparse());
  const Evaluation e =
      evaluate(*data.part, all_of(*data.part), program, *run.parameters, WallClock());
  const double rate = static_cast<double>(e.samples) / e.seconds;
  if (options.json) {
    nlohmann::ordered_json json{{"data", data.splits.provenance}, {"split", options.split},
                                {"samples", e.samples},           {"loss", e.loss},
                                {"accuracy", e.accuracy},         {"seconds", e.seconds},
                                {"samples_per_second", rate}};
    if (e.answers > 1) json["perplexity"] = std::exp(e.loss);
    fmt::print("{}\n", json.dump(2));
    return;
  }
  std::vector<std::string> names = {"data", "part", "samples", "loss", "accuracy", "samples/s"};
  std::vector<std::string> values = {
      data.splits.provenance,        options.split,       with_commas(e.samples),
      fmt::format("{:.4f}", e.loss), percent(e.accuracy), with_commas(static_cast<int64_t>(rate))};
  if (e.answers > 1) {
    names.emplace_back("perplexity");
    values.push_back(fmt::format("{:.2f}", std::exp(e.loss)));
  }
  fmt::print("{}", table({names, values}));
}

}  // namespace

void add_eval_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("eval", R"(Measure the loss and accuracy of a trained network.

Examples:
  lockstep eval runs/try1
  lockstep eval runs/try1 --data mnist --split train --json
  lockstep eval runs/gpt2-finetune --data code.csv
)");
  verb->add_option("run", options->run, "folder of the run (default: runs/latest)");
  verb->add_option("--data", options->data,
                   "another data set (default: the run's own); for a language model, a text file");
  verb->add_option("--split", options->split, "part of the data (default: test)")
      ->check(CLI::IsMember(all_texts<SplitPart>()));
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { eval(*options); });
}

}  // namespace lockstep
