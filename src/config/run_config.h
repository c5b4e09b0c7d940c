#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/toml.h"
#include "config/crossval_config.h"
#include "data/data_config.h"
#include "nn/parameters.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "parallel/parallel_config.h"
#include "tensor/device.h"

namespace lockstep {

struct ModelConfig {
  std::vector<std::string> layers;
  std::string from;  // Hugging Face directory of weights to start with
  int64_t lora_rank = 0;
  double lora_alpha = 16;
  std::string lora_on = "attn.c_attn";
  Init init = Init::pytorch;
};

// Which weights are saved: the last, or the best by validation loss.
enum class Keep { last, best };
template <>
inline constexpr auto enum_texts<Keep> = std::array{"last", "best"};

// A result at which training stops: an accuracy that is reached, or a loss.
enum class Metric { accuracy, loss };
template <>
inline constexpr auto enum_texts<Metric> = std::array{"accuracy", "loss"};
struct Target {
  Metric metric = Metric::accuracy;
  double value = 0;
  bool is_reached_by(double accuracy, double loss) const {
    return metric == Metric::accuracy ? accuracy >= value : loss <= value;
  }
};

struct TrainConfig {
  int64_t epochs = 5;
  int64_t steps = 0;           // length of the run; 0: given by epochs
  int64_t eval_every = 0;      // steps between evaluations; 0: only at the end of epochs
  int64_t batch = 128;         // 0: the whole training set
  int64_t accumulate = 1;      // number of batches whose gradients are summed into one step
  int64_t micro_batch = 1024;  // larger batches are summed from micro-batches of this size
  LossKind loss = LossKind::softmax_cross_entropy;
  double clip_norm = 0;        // gradients are scaled down to this norm; 0: never
  int64_t early_stopping = 0;  // epochs without a better validation loss before stopping; 0: never
  Keep keep = Keep::last;
  std::string until;             // target, such as "accuracy=0.98"; empty: none
  int64_t checkpoint_every = 0;  // steps between checkpoints; 0: only when interrupted
  int64_t keep_checkpoints = 2;  // number of newest checkpoints that are kept
  int64_t log_every = 50;        // steps between lines of metrics.jsonl; 0: epochs only
};

struct ReportConfig {
  bool tensorboard = true;
};

// All settings of a run. `lockstep train` with a saved configuration repeats the run bit by bit.
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

// Throws a UserError for unknown keys, wrong types and values out of range.
void set_keys(RunConfig& config, const TomlValues& values);
RunConfig parse_config(const std::string& text, const std::string& source);
// train.until. Throws a UserError for other texts.
std::optional<Target> target_of(const TrainConfig& config);
// Throws a UserError for settings that do not fit together.
void check(const RunConfig& config);
// Takes network and tokenizer from the directory model.from unless they are set, and adds the LoRA
// settings to the network.
void start_from(RunConfig& config);

std::string to_toml(const RunConfig& config);
// The same, with settings that may change when a run is resumed (length, logging, timeout, backend,
// threads) replaced by fixed values.
std::string lasting_toml(RunConfig config);

}  // namespace lockstep
