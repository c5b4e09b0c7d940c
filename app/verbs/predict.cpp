#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/with_commas.h"
#include "data/formats/image.h"
#include "data/formats/image_fit.h"
#include "data/sources/registry.h"
#include "npy.h"
#include "saved_data.h"
#include "text.h"
#include "train/evaluator.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string run, data, split = "test", logits;
  std::vector<std::string> images;
  bool json = false, invert = false;
};

std::vector<float> softmax(std::span<const float> y) {
  const float largest = *std::max_element(y.begin(), y.end());
  std::vector<float> p(y.begin(), y.end());
  for (float& value : p) value = std::exp(value - largest);
  const float sum = std::accumulate(p.begin(), p.end(), 0.0f);
  for (float& value : p) value /= sum;
  return p;
}

void predict_images(const Options& options, const SavedRun& run, Program& program) {
  if (!run.network->input().is_image())
    throw UserError("{} was trained on vectors of {} values, not on images; use --data",
                    run.path.string(), run.network->input().text());
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"image", "class", "probability", "second"}};
  for (const std::string& path : options.images) {
    Image image = fit_image(read_image(path), run.network->input());
    if (options.invert)
      for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(255 - pixel);
    std::vector<float> x(image.pixels.size());
    run.normalizer.apply(std::span<const uint8_t>(image.pixels), x);
    const int64_t id = 0;
    program.forward(*run.parameters, x.data(), 1, false, {.seed = 0, .epoch = 0, .ids = {&id, 1}});
    const auto p = softmax(program.outputs());
    std::vector<size_t> order(p.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
    rows.push_back({path, run.classes[order[0]], percent(p[order[0]]),
                    order.size() > 1
                        ? fmt::format("{} ({})", run.classes[order[1]], percent(p[order[1]]))
                        : ""});
    results.push_back({{"image", path}, {"class", run.classes[order[0]]}, {"shares", p}});
  }
  if (options.json)
    fmt::print("{}\n", results.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}", table(rows));
}

void predict_data(const Options& options, const SavedRun& run, Program& program) {
  const SavedData data = load_for(run, options.data, from_text<SplitPart>(options.split).value());
  const int64_t outputs = run.network->output().elements();
  std::vector<float> logits;
  int64_t correct = 0;
  run_forward(*data.part, all_of(*data.part), program, *run.parameters, [&](const Batch& batch) {
    const std::span<const float> y = program.outputs();
    logits.insert(logits.end(), y.begin(), y.end());
    for (int64_t n = 0; n < batch.rows; ++n) {
      const auto row = y.subspan(static_cast<size_t>(n * outputs), static_cast<size_t>(outputs));
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      correct += best == batch.labels[static_cast<size_t>(n)];
    }
  });
  if (!options.logits.empty()) write_npy(options.logits, logits, outputs);
  const double accuracy = static_cast<double>(correct) / static_cast<double>(data.part->size());
  if (options.json) {
    const nlohmann::ordered_json json{{"data", data.splits.provenance},
                                      {"split", options.split},
                                      {"samples", data.part->size()},
                                      {"accuracy", accuracy},
                                      {"logits", options.logits}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{} samples of {} ({}): {} correct{}\n", with_commas(data.part->size()),
               data.splits.provenance, options.split, percent(accuracy),
               options.logits.empty() ? "" : ", outputs in " + options.logits);
  }
}

void predict(Options options) {
  if (fs::is_regular_file(options.run)) {  // an image, for the newest run
    options.images.insert(options.images.begin(), options.run);
    options.run = "";
  }
  if (options.images.empty() && options.data.empty())
    throw UserError("name images to classify, or a data set with --data");
  const SavedRun run = open_run(options.run);
  if (find_source(run.config.data.name).kind == SampleKind::posts)
    throw UserError("{} recommends accounts; use 'lockstep recommend {}'", run.path.string(),
                    run.path.string());
  if (run.network->output().is_sequence())
    throw UserError("{} is a language model; use 'lockstep generate {}'", run.path.string(),
                    run.path.string());
  const std::unique_ptr<Device> device = make_device(run.config.device);
  run.parameters->move_to(*device);
  const bool from_images = !options.images.empty();
  Program program(*run.network, run.config.train.loss, *device, from_images ? 1 : 256);
  if (from_images)
    predict_images(options, run, program);
  else
    predict_data(options, run, program);
}

}  // namespace

void add_predict_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("predict", R"(Classify images or a data set with a trained network.

Examples:
  lockstep predict runs/try1 digit.png
  lockstep predict runs/try1 photo-of-a-digit.jpg --invert
  lockstep predict runs/try1 --data mnist --split test --logits out.npy
)");
  verb->add_option("run", options->run, "folder of the run (default: runs/latest)");
  verb->add_option("images", options->images, "PNG or JPEG files");
  verb->add_option("--data", options->data, "a data set instead of images");
  verb->add_option("--split", options->split, "part of the data set (default: test)")
      ->check(CLI::IsMember(all_texts<SplitPart>()));
  verb->add_option("--logits", options->logits, "write the outputs as a NumPy array");
  verb->add_flag("--invert", options->invert,
                 "invert the images: they are dark on light, the training data light on dark");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { predict(*options); });
}

}  // namespace lockstep
