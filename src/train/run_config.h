#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/toml.h"
#include "data/data_config.h"
#include "nn/parameters.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "parallel/parallel_config.h"
#include "tensor/device.h"
#include "train/crossval_config.h"

namespace lockstep {

struct ModelConfig {
  std::vector<std::string> layers;
  std::string from;  // a directory of weights to start with
  int64_t lora_rank = 0;
  double lora_alpha = 16;
  std::string lora_on = "attn.c_attn";
  Init init = Init::pytorch;
};

// Which weights are saved: the last, or the best by validation loss.
enum class Keep { last, best };
template <>
inline constexpr auto enum_texts<Keep> = std::array{"last", "best"};

struct TrainConfig {
  int64_t epochs = 5;
  int64_t steps = 0;           // 0: epochs
  int64_t eval_every = 0;      // steps between evaluations; 0: at the end of epochs
  int64_t batch = 128;         // 0: the whole training set
  int64_t accumulate = 1;      // batches whose gradients are summed to one step
  int64_t micro_batch = 1024;  // larger batches are summed from micro-batches of this size
  LossKind loss = LossKind::softmax_cross_entropy;
  double clip_norm = 0;        // gradients are scaled down to this norm; 0: never
  int64_t early_stopping = 0;  // epochs without a better validation loss; 0: never
  Keep keep = Keep::last;
  int64_t checkpoint_every = 0;  // steps between checkpoints; 0: only when interrupted
  int64_t keep_checkpoints = 2;  // of the newest
  int64_t log_every = 50;        // steps between lines of metrics.jsonl; 0: epochs only
};

struct ReportConfig {
  bool tensorboard = true;
};

// Everything that decides what a run does. `lockstep train` of a saved one repeats the run bit by
// bit.
struct RunConfig {
  std::string name = "run";
  std::string description;
  int64_t seed = 1;
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  DeviceConfig device;
  ParallelConfig parallel;
  CrossvalConfig crossval;
  ReportConfig report;
};

// An enum of the configuration, reached through its texts.
struct EnumTarget {
  void* value;
  const char* (*text)(const void* value);
  bool (*set)(void* value, const std::string& text);  // false: there is no such text
};
template <typename Enum>
EnumTarget enum_target(Enum& value) {
  return {&value, [](const void* at) { return to_text(*static_cast<const Enum*>(at)); },
          [](void* at, const std::string& text) {
            const std::optional<Enum> found = from_text<Enum>(text);
            if (found) *static_cast<Enum*>(at) = *found;
            return found.has_value();
          }};
}

// One key of the configuration: where it is kept, what it means, what it may be.
struct Setting {
  using Target = std::variant<std::string*, int64_t*, int*, double*, bool*,
                              std::vector<std::string>*, EnumTarget>;
  std::string key;
  std::string description;
  std::function<Target(RunConfig&)> target;
  std::vector<std::string> choices = {};  // of a text
  double least = 0;                       // of a number
  bool least_is_excluded = false;
  double most = 1e300;
};

const std::vector<Setting>& settings();

// Sets keys from a file's text or from "key=value"; throws for what is unknown or out of range.
void set_keys(RunConfig& config, const TomlValues& values);
RunConfig parse_config(const std::string& text, const std::string& source);
void check(const RunConfig& config);
// With model.from: the network and the tokenizer are that directory's, where they are not given.
void start_from(RunConfig& config);

std::string to_toml(const RunConfig& config);
// The same without what may change when a run is resumed: its length, logging, time limits, where
// it runs.
std::string lasting_toml(RunConfig config);
std::string default_text(const Setting& setting);  // as TOML

}  // namespace lockstep
