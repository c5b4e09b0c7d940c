#include "config/settings.h"

#include "data/sources/registry.h"
#include "nn/program.h"
#include "parallel/strategy.h"

namespace lockstep {
namespace {

std::vector<std::string> source_names() {
  std::vector<std::string> names;
  for (const Source& source : sources()) names.push_back(source.name);
  return names;
}

struct Print {
  const std::string& key;

  std::string operator()(const std::string* text) const { return toml_string(*text); }
  std::string operator()(const EnumTarget& target) const {
    return toml_string(target.text(target.value));
  }
  std::string operator()(const int64_t* number) const {
    return key == "train.batch" && *number == 0 ? "\"full\"" : std::to_string(*number);
  }
  std::string operator()(const int* number) const { return std::to_string(*number); }
  std::string operator()(const double* number) const {
    const std::string text = fmt::format("{}", *number);
    return text.find_first_of(".einf") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }
  std::string operator()(const std::vector<std::string>* list) const {
    if (list->empty()) return "[]";
    std::string text = "[\n";
    for (const std::string& item : *list) text += "  " + toml_string(item) + ",\n";
    return text + "]";
  }
};

}  // namespace

std::string value_text(const Setting& setting, RunConfig& config) {
  return std::visit(Print{setting.key}, setting.target(config));
}

std::string default_text(const Setting& setting) {
  RunConfig defaults;
  return value_text(setting, defaults);
}

// The single schema for files, --set, saved configurations and docs/configuration.md.
const std::vector<Setting>& settings() {
  using T = Setting::Target;
  using C = RunConfig;
  static const std::vector<Setting> all = {
      {"name",
       "name of the run; its folder is runs/NAME (or NAME-2, NAME-3, ...) unless --out says "
       "otherwise",
       [](C& c) -> T { return &c.name; }},
      {"description", "one sentence on what this is", [](C& c) -> T { return &c.description; }},
      {"seed", "decides initial weights, splits, shuffling and dropout",
       [](C& c) -> T { return &c.seed; }},

      {"model.layers", "the network, one line per layer (see Layers below)",
       [](C& c) -> T { return &c.model.layers; }},
      {"model.from",
       "a Hugging Face directory of a GPT-2 to start from; its config.json gives model.layers "
       "unless they are set",
       [](C& c) -> T { return &c.model.from; }},
      {"model.lora_rank",
       "GPT-2: train only changes of this rank to some matrices (LoRA), which are added to them "
       "when "
       "the model is saved; 0: train all weights",
       [](C& c) -> T { return &c.model.lora_rank; },
       {},
       0,
       false,
       1 << 16},
      {"model.lora_alpha",
       "LoRA: changes are multiplied by alpha / rank",
       [](C& c) -> T { return &c.model.lora_alpha; },
       {},
       0,
       true},
      {"model.lora_on",
       "LoRA: matrices of each block that get changes, joined by +: attn.c_attn, attn.c_proj, "
       "mlp.c_fc, mlp.c_proj",
       [](C& c) -> T { return &c.model.lora_on; }},
      {"model.init", "initial weights like this framework's defaults",
       [](C& c) -> T { return enum_target(c.model.init); }, all_texts<Init>()},

      {"data.name", "where samples come from", [](C& c) -> T { return &c.data.name; },
       source_names()},
      {"data.path", "file or folder, for sources that read your own data",
       [](C& c) -> T { return &c.data.path; }},
      {"data.label", "csv: name of the column that holds the class",
       [](C& c) -> T { return &c.data.label; }},
      {"data.normalize",
       "none; unit: bytes to 0..1, columns to their range; standardize: mean 0, deviation 1, "
       "measured on the training part",
       [](C& c) -> T { return enum_target(c.data.normalize); }, all_texts<Normalize>()},
      {"data.validation",
       "part of the training samples to validate with: a share below 1, or a count",
       [](C& c) -> T { return &c.data.validation; }},
      {"data.test",
       "part to test with: a share below 1, or a count; if set, a source with its own test part "
       "is pooled and split again",
       [](C& c) -> T { return &c.data.test; }},
      {"data.stratified", "splits keep the share of each class",
       [](C& c) -> T { return &c.data.stratified; }},
      {"data.splitter",
       "how rows are drawn for data.test; scikit-learn: as its train_test_split with "
       "random_state = data.split_seed",
       [](C& c) -> T { return enum_target(c.data.splitter); }, all_texts<Splitter>()},
      {"data.split_seed",
       "seed of the splits, so that runs of several seeds can share one; -1: the run's seed",
       [](C& c) -> T { return &c.data.split_seed; },
       {},
       -1,
       false,
       4294967295},
      {"data.reading",
       "every rank reads all samples, or only its own part of the training samples, by MPI-IO "
       "(plain IDX or CIFAR-10 files, parallel.parts = \"contiguous\")",
       [](C& c) -> T { return enum_target(c.data.reading); }, all_texts<Reading>()},
      {"data.limit", "train on this many samples only; 0: all",
       [](C& c) -> T { return &c.data.limit; }},
      {"data.features",
       "posts: one column per word, for the most frequent words, with larger weights for rarer "
       "ones; or one column per hash of a word",
       [](C& c) -> T { return enum_target(c.data.features); }, all_texts<PostFeatures>()},
      {"data.vocabulary",
       "posts: number of columns of the features; affects memory but not time",
       [](C& c) -> T { return &c.data.vocabulary; },
       {},
       1,
       false,
       1 << 24},
      {"data.hidden",
       "posts: share of each user's follows that is hidden in training, to test recommendations",
       [](C& c) -> T { return &c.data.hidden; },
       {},
       0,
       false,
       0.9},
      {"data.tokenizer",
       "text: bytes (256 tokens), gpt2 (50,257; fetched), or a folder with vocab.json and "
       "merges.txt",
       [](C& c) -> T { return &c.data.tokenizer; }},
      {"data.context",
       "text: tokens per sample",
       [](C& c) -> T { return &c.data.context; },
       {},
       1,
       false,
       1 << 20},
      {"data.stride", "text: tokens between the starts of two training samples; 0: data.context",
       [](C& c) -> T { return &c.data.stride; }},
      {"data.template",
       "text from .csv or .jsonl: its columns merged, e.g. \"Problem: {problem}\\nSolution: "
       "{solution}\"",
       [](C& c) -> T { return &c.data.text_template; }},
      {"data.split_column",
       "text from .csv or .jsonl: the column that says train, valid or test; empty: by data.test, "
       "data.validation and the seed",
       [](C& c) -> T { return &c.data.split_column; }},
      {"data.workers",
       "threads that load and convert samples, while another prepares the network, and then prepare "
       "batches ahead; 0: the training thread does everything",
       [](C& c) -> T { return &c.data.workers; },
       {},
       0,
       false,
       256},

      {"train.epochs",
       "passes over the training part",
       [](C& c) -> T { return &c.train.epochs; },
       {},
       1},
      {"train.steps",
       "number of steps after which the run ends, whatever the epoch; 0: train.epochs",
       [](C& c) -> T { return &c.train.steps; }},
      {"train.eval_every",
       "steps between two evaluations on the validation part; 0: at the end of epochs only",
       [](C& c) -> T { return &c.train.eval_every; }},
      {"train.batch", "samples per step; \"full\": the whole training part, plain gradient descent",
       [](C& c) -> T { return &c.train.batch; }},
      {"train.accumulate",
       "number of batches whose gradients are summed before a step",
       [](C& c) -> T { return &c.train.accumulate; },
       {},
       1,
       false,
       1 << 20},
      {"train.micro_batch",
       "largest number of samples that pass through the network at once; larger batches are summed",
       [](C& c) -> T { return &c.train.micro_batch; },
       {},
       1,
       false,
       1 << 20},
      {"train.loss", "loss function to minimise",
       [](C& c) -> T { return enum_target(c.train.loss); }, all_texts<LossKind>()},
      {"train.clip_norm", "gradients are scaled down to this norm; 0: never",
       [](C& c) -> T { return &c.train.clip_norm; }},
      {"train.early_stopping",
       "number of epochs without a better validation loss after which training stops; 0: never",
       [](C& c) -> T { return &c.train.early_stopping; }},
      {"train.until",
       "training stops when this is reached on the validation part (without one, on the test part), "
       "at the end of an epoch or every train.eval_every steps: accuracy=0.98 or loss=0.1; --until",
       [](C& c) -> T { return &c.train.until; }},
      {"train.keep", "which weights are saved: the last, or the best by validation loss",
       [](C& c) -> T { return enum_target(c.train.keep); }, all_texts<Keep>()},

      {"train.checkpoint_every",
       "steps between two checkpoints, for --resume; 0: only when interrupted "
       "(strategies whose ranks differ: at the end of epochs)",
       [](C& c) -> T { return &c.train.checkpoint_every; }},
      {"train.keep_checkpoints",
       "number of newest checkpoints that are kept; damaged ones are skipped when resuming",
       [](C& c) -> T { return &c.train.keep_checkpoints; },
       {},
       1},
      {"train.log_every", "steps between two lines of metrics.jsonl; 0: epochs only",
       [](C& c) -> T { return &c.train.log_every; }},

      {"optimizer.name", "how gradients change weights",
       [](C& c) -> T { return &c.optimizer.name; }, optimizer_names()},
      {"optimizer.lr",
       "learning rate; lbfgs: first step of a line search, as a multiple of its direction",
       [](C& c) -> T { return &c.optimizer.lr; },
       {},
       0,
       true},
      {"optimizer.momentum",
       "momentum, nesterov: momentum coefficient",
       [](C& c) -> T { return &c.optimizer.momentum; },
       {},
       0,
       false,
       1},
      {"optimizer.beta1",
       "adam, adamw: decay of the mean gradient",
       [](C& c) -> T { return &c.optimizer.beta1; },
       {},
       0,
       false,
       0.999999},
      {"optimizer.beta2",
       "adam, adamw: decay of the mean square",
       [](C& c) -> T { return &c.optimizer.beta2; },
       {},
       0,
       false,
       0.9999999},
      {"optimizer.epsilon",
       "adagrad, adam, adamw: added to the square root",
       [](C& c) -> T { return &c.optimizer.epsilon; },
       {},
       0,
       true},
      {"optimizer.weight_decay", "pulls weights to 0 (adamw: decoupled from the gradient)",
       [](C& c) -> T { return &c.optimizer.weight_decay; }},
      {"optimizer.norm_penalty",
       "weight of the gradient's norm, which is added to the loss to minimise: flatter minima, at "
       "twice the time per step; 0: none. Half of optimizer.norm_penalty_radius is a good start",
       [](C& c) -> T { return &c.optimizer.norm_penalty; }},
      {"optimizer.norm_penalty_radius",
       "distance between the two gradients whose difference is the gradient of the norm",
       [](C& c) -> T { return &c.optimizer.norm_penalty_radius; },
       {},
       0,
       true},
      {"optimizer.history",
       "lbfgs: number of earlier steps that approximate the curvature; each takes two arrays",
       [](C& c) -> T { return &c.optimizer.history; },
       {},
       1,
       false,
       1000},
      {"optimizer.iterations",
       "lbfgs: iterations on one batch before the next",
       [](C& c) -> T { return &c.optimizer.iterations; },
       {},
       1,
       false,
       100000},

      {"schedule.name", "how the learning rate changes", [](C& c) -> T { return &c.schedule.name; },
       schedule_names()},
      {"schedule.warmup_epochs", "number of epochs over which the rate grows from 0",
       [](C& c) -> T { return &c.schedule.warmup_epochs; }},
      {"schedule.warmup_steps", "the same in steps; 0: schedule.warmup_epochs",
       [](C& c) -> T { return &c.schedule.warmup_steps; }},
      {"schedule.step_epochs",
       "step: number of epochs after which the rate is multiplied by step_factor",
       [](C& c) -> T { return &c.schedule.step_epochs; },
       {},
       0,
       true},
      {"schedule.step_factor",
       "step: the factor",
       [](C& c) -> T { return &c.schedule.step_factor; },
       {},
       0,
       true},
      {"schedule.final_factor",
       "cosine, linear: factor of the rate at the end",
       [](C& c) -> T { return &c.schedule.final_factor; },
       {},
       0,
       false,
       1},
      {"schedule.scale_with_ranks", "the rate is multiplied by the number of ranks",
       [](C& c) -> T { return &c.schedule.scale_with_ranks; }},

      {"device.name", "device that computes; reference and guarded are for tests",
       [](C& c) -> T { return &c.device.name; }, device_names()},
      {"device.threads",
       "threads of one rank; results do not depend on it",
       [](C& c) -> T { return &c.device.threads; },
       {},
       1,
       false,
       1024},

      {"parallel.ranks",
       "number of ranks that train together; --ranks",
       [](C& c) -> T { return &c.parallel.ranks; },
       {},
       1,
       false,
       100000},
      {"parallel.backend", "what ranks are: MPI processes, or threads of one process; --backend",
       [](C& c) -> T { return enum_target(c.parallel.backend); }, all_texts<Backend>()},
      {"parallel.strategy", "how ranks work together (docs/parallel.md)",
       [](C& c) -> T { return &c.parallel.strategy; }, strategy_names()},
      {"parallel.mode",
       "reproducible: the same weights, bit by bit, for 1, 2, 4 and 8 ranks with one global batch",
       [](C& c) -> T { return enum_target(c.parallel.mode); }, all_texts<Mode>()},
      {"parallel.shards",
       "reproducible: number of shards a global batch is always cut into; a power of two",
       [](C& c) -> T { return &c.parallel.shards; },
       {},
       1,
       false,
       1024},
      {"parallel.batch", "what train.batch counts: samples of each rank, or of all together",
       [](C& c) -> T { return enum_target(c.parallel.batch); }, all_texts<BatchOf>()},
      {"parallel.parts",
       "which samples a rank sees: cut from one shuffled order each epoch, or always its own part",
       [](C& c) -> T { return enum_target(c.parallel.parts); }, all_texts<Parts>()},
      {"parallel.bucket_mb",
       "all-reduce: smallest bucket of gradients, in MB",
       [](C& c) -> T { return &c.parallel.bucket_mb; },
       {},
       0,
       true},
      {"parallel.overlap", "all-reduce: reduce gradients during the backward pass",
       [](C& c) -> T { return &c.parallel.overlap; }},
      {"parallel.compress",
       "gradients (average-weights: changes of weights) are sent rounded to 16 bits, or only the "
       "largest (top-k)",
       [](C& c) -> T { return enum_target(c.parallel.compress); }, all_texts<Compression>()},
      {"parallel.compress_share", "compress = \"top-k\": share of the values that is sent",
       [](C& c) -> T { return &c.parallel.compress_share; }},
      {"parallel.average", "average-weights: when to average",
       [](C& c) -> T { return enum_target(c.parallel.average); }, all_texts<Averaging>()},
      {"parallel.average_steps",
       "average-weights with average = \"steps\": steps between two averages",
       [](C& c) -> T { return &c.parallel.average_steps; },
       {},
       1},
      {"parallel.servers",
       "parameter-server: number of ranks that hold the weights, one shard each",
       [](C& c) -> T { return &c.parallel.servers; },
       {},
       1},
      {"parallel.asynchronous",
       "parameter-server: every push is an update, without waiting for other workers",
       [](C& c) -> T { return &c.parallel.asynchronous; }},
      {"parallel.staleness",
       "parameter-server, asynchronous: a worker waits if it is more than this number of steps "
       "ahead of the slowest",
       [](C& c) -> T { return &c.parallel.staleness; }},
      {"parallel.affinity",
       "cores that ranks are bound to: none, compact, scatter, or a list such as 0,1,2,4; "
       "--affinity",
       [](C& c) -> T { return &c.parallel.affinity; }},
      {"parallel.timeout",
       "seconds a rank waits for others before the job ends",
       [](C& c) -> T { return &c.parallel.timeout; },
       {},
       0,
       true},

      {"parallel.pipeline",
       "number of ranks that hold one replica of the network, cut into stages; --mesh",
       [](C& c) -> T { return &c.parallel.pipeline; },
       {},
       1,
       false,
       4096},
      {"parallel.schedule", "pipeline: order of the micro-batches of a step (docs/mesh.md)",
       [](C& c) -> T { return enum_target(c.parallel.schedule); }, all_texts<Schedule>()},
      {"parallel.chunks",
       "interleaved pipeline: parts of the network per stage; 0: 2",
       [](C& c) -> T { return &c.parallel.chunks; },
       {},
       0,
       false,
       1024},
      {"parallel.micro_batches",
       "micro-batches that a rank's share of a step is cut into; 0: 4 per stage of a pipeline, "
       "otherwise by train.micro_batch",
       [](C& c) -> T { return &c.parallel.micro_batches; },
       {},
       0,
       false,
       1 << 20},

      {"crossval.folds",
       "lockstep crossval: number of parts of the training samples, each tested on once; "
       "--folds",
       [](C& c) -> T { return &c.crossval.folds; },
       {},
       2,
       false,
       100000},
      {"crossval.nodes",
       "lockstep crossval: number of parts that the training samples are cut into first, each "
       "with its own folds; --nodes",
       [](C& c) -> T { return &c.crossval.nodes; },
       {},
       1,
       false,
       100000},
      {"crossval.groups",
       "lockstep crossval: number of groups of ranks that train folds at the same time; 0: "
       "fastest by estimate",
       [](C& c) -> T { return &c.crossval.groups; }},
      {"crossval.model",
       "lockstep crossval: model of a node: the best of its folds, their average, or a model "
       "trained again on all samples of the node",
       [](C& c) -> T { return enum_target(c.crossval.model); }, all_texts<FoldModel>()},
      {"crossval.combine",
       "lockstep crossval: average the models of nodes, or test each and keep the best",
       [](C& c) -> T { return enum_target(c.crossval.combine); }, all_texts<NodeModel>()},

      {"report.tensorboard", "write an event file for TensorBoard into the run folder",
       [](C& c) -> T { return &c.report.tensorboard; }},
  };
  return all;
}

}  // namespace lockstep
