#include "train/record/run_folder.h"

#include <fmt/compile.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/strict_json.h"
#include "nn/files/hugging_face.h"
#include "nn/files/model_file.h"
#include "os/digests.h"
#include "train/record/versions.h"

namespace lockstep {

// A line of metrics.jsonl, which has only numbers. Formatted directly: building JSON values would
// take longer than an epoch of a small network.
class MetricsLine {
 public:
  MetricsLine& add(std::string_view name, double value) {
    scalars_.emplace_back(name, value);
    text_ += text_.empty() ? '{' : ',';
    if (std::isfinite(value))
      fmt::format_to(std::back_inserter(text_), FMT_COMPILE("\"{}\":{}"), name, value);
    else
      fmt::format_to(std::back_inserter(text_), FMT_COMPILE("\"{}\":null"), name);
    return *this;
  }
  MetricsLine& add(std::string_view name, int64_t value) {
    return add(name, static_cast<double>(value));
  }
  std::string text() const { return text_ + '}'; }
  const std::vector<NamedScalar>& scalars() const { return scalars_; }

 private:
  std::string text_;
  std::vector<NamedScalar> scalars_;
};

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view run_line = "# run ";

// Keeps the lines written before the checkpoint; later ones will be written again. If the length at
// the checkpoint is unknown, removes lines of later steps and an incomplete last line.
void cut_metrics(const fs::path& path, const ResumedFrom& resumed) {
  const std::string text = read_text(path), key = "\"train/global_step\":";
  const auto length = static_cast<size_t>(std::max<int64_t>(0, resumed.metrics_bytes));
  if (length > 0 && length <= text.size() && text[length - 1] == '\n') {
    write_file(path, std::string_view(text).substr(0, length));
    return;
  }
  std::string kept;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = text.substr(at, end + 1 - at);
    const size_t number = line.find(key);
    if (number == std::string::npos ||
        std::atoll(line.c_str() + number + key.size()) <= resumed.global_step)
      kept += line;
  }
  write_file(path, kept);
}

// Makes the folder and removes results of an earlier start.
fs::path made(const fs::path& path, const std::optional<ResumedFrom>& resumed) {
  make_folder(path / "model");
  std::error_code ignored;
  for (const char* old : {"summary.json", "trace.json"}) fs::remove(path / old, ignored);
  if (resumed && fs::exists(path / "metrics.jsonl")) cut_metrics(path / "metrics.jsonl", *resumed);
  return path;
}

// A resumed run keeps its identifier; a run of 0.1.0 has none and gets one.
std::string identifier(const fs::path& path, const std::optional<ResumedFrom>& resumed) {
  std::string run;
  if (resumed) run = run_of_config(read_text(path / "config.toml"));
  return run.empty() ? new_run_identifier() : run;
}

// Names of classes come from folders and files: bytes that are not UTF-8 become U+FFFD.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void add_evaluation(MetricsLine& line, const Evaluation& e) {
  const double seconds = std::max(e.seconds, 1e-9);
  line.add("eval/loss", e.loss);
  if (e.answers > 1) line.add("eval/perplexity", std::exp(e.loss));
  line.add("eval/accuracy", e.accuracy)
      .add("eval/runtime", e.seconds)
      .add("eval/samples_per_second", static_cast<double>(e.samples) / seconds)
      .add("eval/steps_per_second", static_cast<double>(e.steps) / seconds);
}

Json parallel_json(const ParallelFigures& p) {
  Json json{{"ranks", p.ranks},
            {"hosts", p.hosts},
            {"backend", p.backend},
            {"strategy", p.strategy},
            {"ranks_per_node", p.ranks_per_node},
            {"all_reduce", p.all_reduce},
            {"oversubscribed", p.oversubscribed},
            {"emulated_hosts", p.emulated_hosts},
            {"global_batch", p.global_batch},
            {"gradient_bytes_per_step", p.bytes_per_step},
            {"computing_share", p.computing_share},
            {"hidden_communication_share", p.hidden_share},
            {"exposed_communication_share", p.exposed_share},
            {"waiting_share", p.waiting_share},
            {"loading_share", p.loading_share},
            {"imbalance", p.imbalance}};
  if (p.baseline) {
    json["baseline"] = p.baseline->run;
    json["speed_up"] = p.speed_up;
    json["efficiency"] = p.efficiency;
  }
  for (const RankTimes& r : p.by_rank)
    json["seconds_by_rank"].push_back({{"host", r.host},
                                       {"computing", r.times.compute},
                                       {"hidden_communication", r.times.hidden},
                                       {"exposed_communication", r.times.exposed},
                                       {"waiting", r.times.waiting},
                                       {"loading", r.times.load}});
  for (const NamedFigure& figure : p.own) json[figure.name] = figure.value;
  json["bound"] = p.bound;
  json["diagnosis"] = p.diagnosis.empty() ? Json() : Json(p.diagnosis);
  return json;
}

std::vector<int64_t> extents(const Shape& shape) {
  std::vector<int64_t> all;
  for (int axis = 0; axis < shape.rank(); ++axis) all.push_back(shape[axis]);
  return all;
}

Shape shape_from(const Json& json, const fs::path& path) {
  const auto e = json.get<std::vector<int64_t>>();
  for (const int64_t extent : e)
    if (extent < 1 || extent > 1'000'000)
      throw UserError("{}: the input shape {} is not possible", path.string(), json.dump());
  if (e.size() == 1) return {e[0]};
  if (e.size() == 3) return {e[0], e[1], e[2]};
  throw UserError("{}: the input shape {} is neither features nor an image", path.string(),
                  json.dump());
}

void expect_same(const Network& network, const std::vector<std::string>& layers,
                 const fs::path& model, const fs::path& config) {
  if (network.lines() == layers) return;
  if (auto adapted = gpt2_of(layers)) {  // LoRA changes were added when it was saved
    adapted->lora_rank = 0;
    if (std::vector{text(*adapted)} == network.lines()) return;
  }
  throw UserError("{} is the model of another network ({}) than {} describes ({})", model.string(),
                  fmt::join(network.lines(), "; "), config.string(), fmt::join(layers, "; "));
}

// Refuses a folder that two runs have written to.
void expect_one_run(const std::string& configuration, const std::string& model,
                    const fs::path& config_path, const fs::path& model_path) {
  if (configuration == model) return;
  throw UserError(
      "{} belongs to run {}, but {} to run {}: two runs have written into this folder; train again",
      config_path.string(), configuration.empty() ? "unknown" : configuration, model_path.string(),
      model);
}

}  // namespace

std::string config_head(const std::string& run) {
  return fmt::format("# {}\n{}{}\n", versions_text(), run_line, run);
}

std::string run_of_config(const std::string& text) {
  for (size_t at = 0; at < text.size() && text[at] == '#';) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.starts_with(run_line)) return std::string(line.substr(run_line.size()));
    at = end + 1;
  }
  return "";
}

RunFolder::RunFolder(const fs::path& path, const RunConfig& config,
                     const std::optional<ResumedFrom>& resumed)
    : path_(made(path, resumed)),
      run_(identifier(path, resumed)),
      log_every_(config.train.log_every),
      metrics_(path / "metrics.jsonl", resumed.has_value()) {
  if (config.report.tensorboard) events_ = std::make_unique<EventFile>(path_);
  write_file(path_ / "config.toml", config_head(run_) + to_toml(config));
  if (!resumed) metrics_.append(Json{{"run", run_}}.dump());
}

int64_t RunFolder::flush_metrics() {
  metrics_.flush();
  if (events_) events_->flush();
  return static_cast<int64_t>(fs::file_size(path_ / "metrics.jsonl"));
}

void RunFolder::log(int64_t step, const MetricsLine& line) {
  metrics_.append(line.text());
  if (events_) events_->add(step, line.scalars());
}

void RunFolder::step_done(const StepReport& r) {
  if (log_every_ == 0 || r.global_step % log_every_ != 0) return;
  log(r.global_step, MetricsLine()
                         .add("train/global_step", r.global_step)
                         .add("train/epoch", r.epochs_done)
                         .add("train/loss", r.loss)
                         .add("train/grad_norm", r.gradient_norm)
                         .add("train/learning_rate", r.learning_rate)
                         .add("time/load", r.times.load)
                         .add("time/compute", r.times.compute)
                         .add("time/hidden_communication", r.times.hidden)
                         .add("time/exposed_communication", r.times.exposed)
                         .add("time/waiting", r.times.waiting));
}

void RunFolder::evaluated(const EvaluationReport& r) {
  MetricsLine line;
  line.add("train/global_step", r.global_step).add("train/epoch", r.epochs_done);
  add_evaluation(line, r.evaluation);
  log(r.global_step, line);
}

void RunFolder::epoch_done(const EpochReport& r) {
  MetricsLine line;
  line.add("train/global_step", r.global_step)
      .add("train/epoch", r.epochs_done)
      .add("train/epoch_loss", r.loss)
      .add("train/accuracy", r.accuracy)
      .add("train/grad_norm", r.gradient_norm)
      .add("train/learning_rate", r.learning_rate)
      .add("train/epoch_seconds", r.seconds)
      .add("train/samples_per_second", r.samples_per_second);
  if (r.validation) add_evaluation(line, *r.validation);
  log(r.global_step, line);
}

std::string summary_json(const Summary& s) {
  Json json{{"name", s.name},
            {"ending", to_text(s.ending)},
            {"data", s.data},
            {"device", s.device},
            {"versions", versions_text()},
            {"seed", s.seed},
            {"parameters", s.parameters},
            {"epochs", s.epochs == std::floor(s.epochs) ? Json(static_cast<int64_t>(s.epochs))
                                                        : Json(s.epochs)},
            {"global_batch", s.global_batch},
            {"learning_rate", s.learning_rate > 0 ? Json(s.learning_rate) : Json()},
            {"first_loss", s.first_loss > 0 ? Json(s.first_loss) : Json()},
            {"train_loss", s.train_loss},
            {"train_accuracy", s.train_accuracy}};
  if (s.loss_rose()) json["loss_rose"] = true;
  if (s.validation) {
    json["validation_loss"] = s.validation->loss;
    json["validation_accuracy"] = s.validation->accuracy;
    if (s.validation->answers > 1) json["validation_perplexity"] = std::exp(s.validation->loss);
  }
  if (s.best_epoch > 0) json["best_epoch"] = s.best_epoch;
  if (s.target) {
    json["until"] = s.target->target;
    json["until_on"] = s.target->on_test ? "test" : "validation";
    json["until_seconds"] = s.target->reached ? Json(s.target->seconds) : Json();
    json["until_epochs"] = s.target->reached ? Json(s.target->epochs) : Json();
  }
  json["test_loss"] = s.test ? Json(s.test->loss) : Json();
  json["test_accuracy"] = s.test ? Json(s.test->accuracy) : Json();
  if (s.test && s.test->answers > 1) json["test_perplexity"] = std::exp(s.test->loss);
  for (const NamedFigure& figure : s.figures) json[figure.name] = figure.value;
  json["read_seconds"] = s.simulated ? Json() : Json(s.read_seconds);
  json["gradient_seconds"] = s.gradient_seconds;
  json["epoch_seconds"] = s.epoch_seconds;
  json["total_seconds"] = s.total_seconds;
  json["samples_per_second"] = s.samples_per_second;
  json["peak_memory_bytes"] = s.peak_memory_bytes;
  if (s.parallel) json["parallel"] = parallel_json(*s.parallel);
  if (s.simulated) {
    json["simulated"] = true;
    json["simulation"] = {{"cluster", s.simulated->cluster},
                          {"profile", s.simulated->profile},
                          {"engine", s.simulated->engine},
                          {"step_seconds", s.simulated->step_seconds},
                          {"undisturbed_step_seconds", s.simulated->undisturbed_step_seconds},
                          {"step_seconds_low", s.simulated->low},
                          {"step_seconds_high", s.simulated->high},
                          {"memory_bytes_per_rank", s.simulated->memory_bytes},
                          {"disturbed", s.simulated->disturbed},
                          {"extrapolated", s.simulated->extrapolated},
                          {"cautions", s.simulated->cautions}};
  }
  return text_of(json) + "\n";
}

void RunFolder::run_ended(const Summary& summary) {
  metrics_.flush();
  if (events_) events_->flush();
  files_.add({path_ / "summary.json", summary_json(summary)});
  files_.commit();
}

std::vector<uint8_t> saved_model(const Parameters& parameters, const Network& network,
                                 const std::vector<std::string>& classes,
                                 const Normalizer& normalizer) {
  const Json json{{"input", extents(network.input())},
                  {"layers", network.lines()},
                  {"classes", classes},
                  {"normalizer",
                   {{"type", to_text(normalizer.type)},
                    {"shift", normalizer.shift},
                    {"scale", normalizer.scale}}}};
  return model_bytes(parameters, text_of(json));
}

void RunFolder::save(const Parameters& parameters, const Network& network, const DataSplits& data) {
  const fs::path folder = path_ / "model";
  const auto size = gpt2_of(network.lines());
  if (size && size->lora_rank > 0) {  // as a plain GPT-2, which other programs can read
    Gpt2 plain = *size;
    plain.lora_rank = 0;
    save(merged(*size, parameters), Network({text(plain)}, network.input()), data);
    return;
  }
  ModelFiles files = {{"model.safetensors",
                       saved_model(parameters, network, data.train->classes(), data.normalizer)}};
  const auto add = [&](const auto& texts) {
    for (const auto& [name, content] : texts)
      files.emplace_back(name, std::vector<uint8_t>(content.begin(), content.end()));
  };
  if (data.tokenizer) add(data.tokenizer->files());
  if (data.tokenizer && size) add(gpt2_files(*size, data.tokenizer->end_of_text()));
  stage_model(files_, folder, files, run_);
}

void stage_model(FileGroup& group, const fs::path& folder, const ModelFiles& files,
                 const std::string& run) {
  Digests digests{.run = run, .files = {}};
  for (const auto& [name, content] : files) {
    group.add({folder / name, content});
    digests.files[name] = digest_of(content);
  }
  // With the digests of an earlier model the new one would look damaged.
  std::error_code ignored;
  fs::remove(digests_path(folder), ignored);
  group.add({digests_path(folder), digests_text(digests)});
}

Baseline read_baseline(const fs::path& run) {
  const fs::path path = run / "summary.json";
  const Json json = parse_object<Json>(read_text(path), path.string(), 8);
  const auto number = [&](const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0.0;
  };
  if (!(number("samples_per_second") > 0))
    throw UserError("{} is not the summary of a run", path.string());
  if (json.contains("parallel"))
    throw UserError("{} is a run of several ranks; a baseline must be a run of one rank",
                    run.string());
  return {.run = run.string(),
          .samples_per_second = number("samples_per_second"),
          .gradient_seconds = number("gradient_seconds"),
          .batch = static_cast<int64_t>(number("global_batch"))};
}

SavedRun load_run(const fs::path& path) {
  if (!fs::exists(path / "config.toml"))
    throw UserError(
        "{} is not a run folder: it has no config.toml; name the folder that 'lockstep train' "
        "wrote",
        path.string());
  SavedRun run;
  run.path = path;
  const fs::path config = path / "config.toml", model = path / "model" / "model.safetensors";
  const std::string text = read_text(config);
  run.config = parse_config(text, config.string());
  if (!fs::exists(model))
    throw UserError("{} has no model: the run has not ended; {}", path.string(),
                    fs::is_directory(path / "checkpoints")
                        ? fmt::format("resume it with 'lockstep train --resume {}'", path.string())
                        : "train it again");
  const std::optional<Digests> digests = read_digests(model.parent_path());
  run.has_digests = digests.has_value();
  if (digests) {
    expect_one_run(run_of_config(text), digests->run, config, model);
    for (const auto& [name, digest] : digests->files)
      if (name != model.filename()) expect_undamaged(model.parent_path() / name);
  }
  const TensorFile file = read_safetensors(model);
  const Json json = Json::parse(network_of(file, model), nullptr, false);
  try {
    run.network = std::make_unique<Network>(json.at("layers").get<std::vector<std::string>>(),
                                            shape_from(json.at("input"), model));
    expect_same(*run.network, run.config.model.layers, model, config);
    run.classes = json.at("classes").get<std::vector<std::string>>();
    const Json& n = json.at("normalizer");
    const auto type = from_text<Normalize>(n.at("type").get<std::string>());
    if (!type)
      throw UserError("{}: its normaliser has an unknown type {}", model.string(),
                      n.at("type").dump());
    run.normalizer = {*type, n.at("shift").get<std::vector<float>>(),
                      n.at("scale").get<std::vector<float>>()};
    check_fits(run.normalizer, run.network->input());
  } catch (const Json::exception& error) {
    throw UserError("{}: its description of the network is damaged: {}", model.string(),
                    error.what());
  }
  run.parameters = std::make_unique<Parameters>(*run.network);
  take_tensors(file, model, *run.parameters);
  return run;
}

bool is_finished(const fs::path& run, const RunConfig& wanted) {
  const fs::path path = run / "summary.json";
  if (wanted.train.steps > 0 || !fs::is_regular_file(path)) return false;
  const Json json = Json::parse(read_text(path), nullptr, false);
  if (!json.is_object() || !json.contains("epochs") || !json["epochs"].is_number()) return false;
  return json.value("ending", "") == to_text(Ending::finished) &&
         json["epochs"].get<double>() >= static_cast<double>(wanted.train.epochs);
}

}  // namespace lockstep
