#include "config/run_config.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "config/settings.h"
#include "nn/files/hugging_face.h"
#include "parallel/lbfgs/lbfgs_history.h"
#include "parallel/strategy.h"

namespace lockstep {
namespace {

const Setting& find(const std::string& key, const std::string& where) {
  std::vector<std::string> keys;
  for (const Setting& setting : settings()) {
    if (setting.key == key) return setting;
    keys.push_back(setting.key);
  }
  const std::string close = nearest(key, keys);
  if (close.empty())
    throw UserError("{}: there is no key '{}'; docs/configuration.md lists them all", where, key);
  throw UserError("{}: there is no key '{}'; did you mean '{}'?", where, key, close);
}

[[noreturn]] void wrong_type(const Setting& setting, const TomlValue& value, const char* expected) {
  throw UserError("{}: {} is {}, {} was expected", value.where, setting.key, value.type(),
                  expected);
}

double number_of(const Setting& setting, const TomlValue& value, bool whole) {
  double number = 0;
  if (const auto* integer = std::get_if<int64_t>(&value.data))
    number = static_cast<double>(*integer);
  else if (const auto* real = std::get_if<double>(&value.data); real && !whole)
    number = *real;
  else
    wrong_type(setting, value, whole ? "a whole number" : "a number");
  const bool low =
      setting.least_is_excluded ? !(number > setting.least) : !(number >= setting.least);
  const double most = whole ? std::min(setting.most, 9e15) : setting.most;
  if (low || !(number <= most))
    throw UserError("{}: {} = {} is out of range, {} {}{} was expected", value.where, setting.key,
                    number, setting.least_is_excluded ? "more than" : "at least", setting.least,
                    number > most ? fmt::format(" and at most {}", most) : "");
  return number;
}

struct Assign {
  const Setting& setting;
  const TomlValue& value;

  std::string text() const {
    if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
    // Text such as 0 after --set was parsed as a number: take it as typed.
    if (!value.where.starts_with("--set ")) wrong_type(setting, value, "text in quotes");
    return value.where.substr(std::min(value.where.find('=') + 1, value.where.size()));
  }
  [[noreturn]] void not_known(const std::string& text) const {
    throw UserError("{}: {} = \"{}\" is not known; {}", value.where, setting.key, text,
                    suggestion(text, setting.choices));
  }

  void operator()(std::string* target) const {
    const auto& choices = setting.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), text()) == choices.end())
      not_known(text());
    *target = text();
  }
  void operator()(const EnumTarget& target) const {
    if (!target.set(target.value, text())) not_known(text());
  }
  void operator()(int64_t* target) const {
    if (setting.key == "train.batch" && value.data == decltype(value.data)(std::string("full"))) {
      *target = 0;
      return;
    }
    number_of(setting, value, true);  // checks the range; a double cannot hold every integer
    *target = std::get<int64_t>(value.data);
    if (setting.key == "train.batch" && *target == 0 && std::holds_alternative<int64_t>(value.data))
      throw UserError("{}: train.batch = 0 is out of range, at least 1 was expected (or \"full\")",
                      value.where);
  }
  void operator()(int* target) const {
    *target = static_cast<int>(number_of(setting, value, true));
  }
  void operator()(double* target) const { *target = number_of(setting, value, false); }
  void operator()(bool* target) const {
    const auto* flag = std::get_if<bool>(&value.data);
    if (!flag) wrong_type(setting, value, "true or false");
    *target = *flag;
  }
  void operator()(std::vector<std::string>* target) const {
    const auto* list = std::get_if<std::vector<std::string>>(&value.data);
    if (!list) wrong_type(setting, value, "a list of texts");
    *target = *list;
  }
};

}  // namespace

void set_keys(RunConfig& config, const TomlValues& values) {
  for (const auto& [key, value] : values) {
    const Setting& setting = find(key, value.where);
    std::visit(Assign{setting, value}, setting.target(config));
    if (key == "name" && !config.name.empty()) expect_name(config.name, value.where);
  }
}

RunConfig parse_config(const std::string& text, const std::string& source) {
  RunConfig config;
  set_keys(config, parse_toml(text, source));
  return config;
}

std::optional<Target> target_of(const TrainConfig& config) {
  if (config.until.empty()) return std::nullopt;
  const size_t equals = std::min(config.until.find('='), config.until.size());
  const auto metric = from_text<Metric>(config.until.substr(0, equals));
  const std::string digits = config.until.substr(std::min(equals + 1, config.until.size()));
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const bool is_number = !digits.empty() && std::from_chars(digits.data(), end, value).ptr == end;
  if (!metric || !is_number || !(value > 0) || (*metric == Metric::accuracy && value > 1) ||
      !std::isfinite(value))
    throw UserError(
        "train.until = \"{}\" is not known; expected accuracy=A, from 0 to 1, or loss=L, such as "
        "accuracy=0.98",
        printable(config.until));
  return Target{*metric, value};
}

namespace {

void check_pipeline(const RunConfig& config, const StrategyTraits& traits) {
  const ParallelConfig& p = config.parallel;
  if (p.chunks > 1 && p.schedule != Schedule::interleaved)
    throw UserError(
        "parallel.chunks = {} needs parallel.schedule = \"interleaved\"; with \"{}\" a stage holds "
        "one part of the network",
        p.chunks, to_text(p.schedule));
  if (p.pipeline == 1) return;  // --mesh may come later: see mesh_of()
  check(PipelineShape{.schedule = p.schedule,
                      .stages = static_cast<int>(p.pipeline),
                      .chunks = p.chunks_per_stage(),
                      .micro_batches = p.micro_batches > 0 ? p.micro_batches : 4 * p.pipeline});
  if (!traits.splits_networks)
    throw UserError(
        "parallel.pipeline = {} is not possible with strategy \"{}\", in which a rank works with "
        "all weights; use \"all-reduce\", \"reduce-broadcast\" or \"average-weights\"",
        p.pipeline, p.strategy);
  if (is_lbfgs(config.optimizer) || config.optimizer.norm_penalty > 0)
    throw UserError(
        "parallel.pipeline = {} is not possible with {}, which computes the gradients of a step "
        "several times; leave one of them out",
        p.pipeline,
        is_lbfgs(config.optimizer) ? "optimizer.name = \"lbfgs\"" : "optimizer.norm_penalty");
}

}  // namespace

void check(const RunConfig& config) {
  expect_name(config.name, "name");
  const bool validates = config.data.validation > 0 || !config.data.split_column.empty();
  const bool has_target = target_of(config.train).has_value();
  if (config.train.eval_every > 0 && !validates && !has_target)
    throw UserError("train.eval_every needs a validation part; set data.validation, e.g. 0.1");
  if (config.train.early_stopping > 0 && !validates)
    throw UserError("train.early_stopping needs a validation part; set data.validation, e.g. 0.1");
  if (config.train.keep == Keep::best && !validates)
    throw UserError("train.keep = \"best\" needs a validation part; set data.validation, e.g. 0.1");
  const ParallelConfig& p = config.parallel;
  if (!std::has_single_bit(static_cast<uint64_t>(p.shards)))
    throw UserError("parallel.shards = {} is not a power of two; try {}", p.shards,
                    std::bit_ceil(static_cast<uint64_t>(p.shards)));
  const StrategyTraits traits = traits_of(p);
  if (p.mode == Mode::reproducible && !traits.reproducible)
    throw UserError(
        "parallel.mode = \"reproducible\" needs strategy \"all-reduce\"; with strategy \"{}\" "
        "weights depend on the number of ranks",
        p.strategy);
  if (p.mode == Mode::reproducible && p.parts != Parts::shuffled)
    throw UserError(
        "parallel.mode = \"reproducible\" needs parallel.parts = \"shuffled\": fixed parts "
        "depend on the number of ranks");
  if (p.compress != Compression::none && !traits.compresses)
    throw UserError(
        "parallel.compress = \"{}\" is not possible with strategy \"{}\", which sends what it "
        "likes",
        to_text(p.compress), p.strategy);
  if (!(p.compress_share > 0 && p.compress_share <= 1))
    throw UserError(
        "parallel.compress_share = {} is not possible; expected a share of the values above 0 and "
        "at most 1",
        p.compress_share);
  if (p.compress != Compression::none && p.mode == Mode::reproducible)
    throw UserError(
        "parallel.compress = \"{}\" is not possible with parallel.mode = \"reproducible\": rounded "
        "sums depend on the number of ranks",
        to_text(p.compress));
  if (!traits.one_model && config.train.keep == Keep::best)
    throw UserError(
        "train.keep = \"best\" is not possible with parallel.average = \"{}\": each rank has its "
        "own model with its own best epoch; use parallel.average = \"epoch\"",
        to_text(p.average));
  if (!traits.can_clip && config.train.clip_norm > 0)
    throw UserError(
        "train.clip_norm needs the whole gradient, which no rank of a synchronous "
        "\"parameter-server\" has; use \"all-reduce\", or parallel.asynchronous = true");
  if (is_lbfgs(config.optimizer)) {
    if (config.train.clip_norm > 0)
      throw UserError(
          "train.clip_norm is not possible with optimizer.name = \"lbfgs\": its line search needs "
          "the gradient itself; drop train.clip_norm");
    if (p.compress != Compression::none)
      throw UserError(
          "parallel.compress = \"{}\" is not possible with optimizer.name = \"lbfgs\": a line "
          "search compares losses more exactly than rounded gradients allow",
          to_text(p.compress));
  }
  if (config.optimizer.norm_penalty > 0) {
    if (!traits.penalizes_norms || is_lbfgs(config.optimizer))
      throw UserError(
          "optimizer.norm_penalty is not possible with strategy \"{}\" and optimizer.name = "
          "\"{}\"; use \"all-reduce\" or \"reduce-broadcast\", where all ranks have the whole "
          "gradient, and another optimiser than lbfgs",
          p.strategy, config.optimizer.name);
    if (p.compress == Compression::top_k)
      throw UserError(
          "optimizer.norm_penalty is not possible with parallel.compress = \"top-k\", which sends "
          "a part of each gradient later; use \"bf16\" or \"fp16\"");
  }
  check_pipeline(config, traits);
  constexpr int64_t most_servers = ArenaPart::all_blocks;
  if (traits.deals_portions && p.servers > most_servers)
    throw UserError("parallel.servers = {} is too many for strategy \"{}\"; use at most {}",
                    p.servers, p.strategy, most_servers);
  if (traits.deals_portions && config.data.reading == Reading::own_part)
    throw UserError(
        "data.reading = \"own-part\" is not possible with strategy \"{}\": any worker may compute "
        "any portion of a batch; use data.reading = \"all\"",
        p.strategy);
  if (!suits(traits, config.optimizer))
    throw UserError("strategy \"{}\" does not work with optimizer.name = \"{}\"; {}", p.strategy,
                    config.optimizer.name,
                    is_lbfgs(config.optimizer)
                        ? "use \"all-reduce\" or \"sandblaster\", which search along lines"
                        : "use optimizer.name = \"lbfgs\"");
  if (!config.model.layers.empty() &&
      config.model.layers.back().find("softmax") != std::string::npos &&
      config.train.loss == LossKind::softmax_cross_entropy)
    throw UserError(
        "the network ends in softmax, but train.loss = \"softmax-cross-entropy\" already "
        "applies it; drop the last layer");
}

namespace {

void take_directory(RunConfig& config) {
  const Gpt2 found = read_gpt2_config(config.model.from);
  if (config.data.tokenizer.empty()) config.data.tokenizer = config.model.from;
  if (config.model.layers.empty()) {
    config.model.layers = {text(found)};
    return;
  }
  const auto asked = gpt2_of(config.model.layers);
  const bool same = asked && asked->layers == found.layers && asked->heads == found.heads &&
                    asked->width == found.width && asked->context == found.context &&
                    asked->vocabulary == found.vocabulary;
  if (!same)
    throw UserError("model.layers is \"{}\", but {} holds a \"{}\"; drop model.layers",
                    fmt::join(config.model.layers, "; "), config.model.from, text(found));
}

}  // namespace

void start_from(RunConfig& config) {
  if (!config.model.from.empty()) take_directory(config);
  if (config.model.lora_rank == 0 || config.model.layers.empty()) return;
  auto size = gpt2_of(config.model.layers);
  if (!size)
    throw UserError("model.lora_rank is for networks of one line \"gpt2 ...\", not \"{}\"",
                    fmt::join(config.model.layers, "; "));
  size->lora_rank = config.model.lora_rank;
  size->lora_alpha = config.model.lora_alpha;
  size->lora_on = config.model.lora_on;
  LayerLine line(text(*size));
  config.model.layers = {text(parse_gpt2(line.take("a name"), line))};  // parsing checks it
}

std::string to_toml(const RunConfig& config) {
  RunConfig copy = config;
  std::string text, section;
  for (const Setting& setting : settings()) {
    const size_t dot = setting.key.find('.');
    const std::string prefix = dot == std::string::npos ? "" : setting.key.substr(0, dot);
    if (prefix != section) text += fmt::format("\n[{}]\n", prefix);
    section = prefix;
    const std::string name = dot == std::string::npos ? setting.key : setting.key.substr(dot + 1);
    text += fmt::format("{} = {}\n", name, value_text(setting, copy));
  }
  return text;
}

std::string lasting_toml(RunConfig config) {
  const RunConfig defaults;
  config.name = config.description = "";
  config.train.epochs = config.train.checkpoint_every = config.train.log_every = 0;
  config.train.early_stopping = config.train.steps = config.train.eval_every = 0;
  config.train.until = "";
  config.train.keep_checkpoints = defaults.train.keep_checkpoints;
  config.data.workers = 0;
  config.device.threads = 1;
  config.parallel.backend = defaults.parallel.backend;
  // Where a checkpoint allows another mesh: see ReplicaCheckpoint.
  config.parallel.ranks = defaults.parallel.ranks;
  config.parallel.pipeline = defaults.parallel.pipeline;
  config.parallel.schedule = defaults.parallel.schedule;
  config.parallel.chunks = defaults.parallel.chunks;
  config.parallel.micro_batches = defaults.parallel.micro_batches;
  config.parallel.affinity = defaults.parallel.affinity;
  config.parallel.timeout = defaults.parallel.timeout;
  config.crossval.groups = 0;
  config.report = defaults.report;
  return to_toml(config);
}

}  // namespace lockstep
