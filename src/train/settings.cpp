#include "data/sources/registry.h"
#include "nn/program.h"
#include "train/run_config.h"

namespace lockstep {
namespace {

std::vector<std::string> source_names() {
  std::vector<std::string> names;
  for (const Source& source : sources()) names.push_back(source.name);
  return names;
}

}  // namespace

// The one schema: files, --set, the saved configuration and docs/configuration.md all come from it.
const std::vector<Setting>& settings() {
  using T = Setting::Target;
  using C = RunConfig;
  static const std::vector<Setting> all = {
      {"name", "name of the run; its folder is runs/NAME unless --out says otherwise",
       [](C& c) -> T { return &c.name; }},
      {"description", "one sentence on what this is", [](C& c) -> T { return &c.description; }},
      {"seed", "decides initial weights, splits, shuffling and dropout",
       [](C& c) -> T { return &c.seed; }},

      {"model.layers", "the network, a line a layer (see Layers below)",
       [](C& c) -> T { return &c.model.layers; }},
      {"model.init",
       "initial weights as this framework's default",
       [](C& c) -> T { return &c.model.init; },
       {"pytorch", "keras"}},

      {"data.name", "where samples come from", [](C& c) -> T { return &c.data.name; },
       source_names()},
      {"data.path", "the file or folder of sources that read your own data",
       [](C& c) -> T { return &c.data.path; }},
      {"data.label", "csv: name of the column that holds the class",
       [](C& c) -> T { return &c.data.label; }},
      {"data.normalize",
       "none; unit: bytes to 0..1, columns to their range; standardize: mean 0, deviation 1, "
       "measured on the training part",
       [](C& c) -> T { return &c.data.normalize; },
       {"none", "unit", "standardize"}},
      {"data.validation",
       "part of the training samples to validate with: a share below 1, or a count",
       [](C& c) -> T { return &c.data.validation; }},
      {"data.test",
       "part to test with: a share below 1, or a count; a source with a test part of its own is "
       "pooled and split anew when this is set",
       [](C& c) -> T { return &c.data.test; }},
      {"data.stratified", "splits keep the share of each class",
       [](C& c) -> T { return &c.data.stratified; }},
      {"data.splitter",
       "whose random rows become data.test; scikit-learn: those of its train_test_split with "
       "random_state = data.split_seed",
       [](C& c) -> T { return &c.data.splitter; },
       {"lockstep", "scikit-learn"}},
      {"data.split_seed",
       "seed of the splits, so that runs of several seeds can share one; -1: the run's seed",
       [](C& c) -> T { return &c.data.split_seed; },
       {},
       -1,
       false,
       4294967295},
      {"data.limit", "train on this many samples only; 0: all",
       [](C& c) -> T { return &c.data.limit; }},
      {"data.workers",
       "threads that prepare batches ahead; 0: the training thread does",
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
      {"train.batch", "samples a step; \"full\": the whole training part, plain gradient descent",
       [](C& c) -> T { return &c.train.batch; }},
      {"train.micro_batch",
       "larger batches are summed from pieces of this many samples",
       [](C& c) -> T { return &c.train.micro_batch; },
       {},
       1,
       false,
       1 << 20},
      {"train.loss", "what is made small", [](C& c) -> T { return &c.train.loss; }, loss_names()},
      {"train.clip_norm", "gradients are scaled down to this norm; 0: never",
       [](C& c) -> T { return &c.train.clip_norm; }},
      {"train.early_stopping",
       "stop after so many epochs without a better validation loss; 0: never",
       [](C& c) -> T { return &c.train.early_stopping; }},
      {"train.keep",
       "which weights are saved: the last, or the best by validation loss",
       [](C& c) -> T { return &c.train.keep; },
       {"last", "best"}},

      {"train.log_every", "write every so many steps to metrics.jsonl; 0: epochs only",
       [](C& c) -> T { return &c.train.log_every; }},

      {"optimizer.name", "how gradients change weights",
       [](C& c) -> T { return &c.optimizer.name; }, optimizer_names()},
      {"optimizer.lr", "learning rate", [](C& c) -> T { return &c.optimizer.lr; }, {}, 0, true},
      {"optimizer.momentum",
       "momentum, nesterov",
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
       "adam, adamw: added to the root",
       [](C& c) -> T { return &c.optimizer.epsilon; },
       {},
       0,
       true},
      {"optimizer.weight_decay", "pulls weights to 0 (adamw: decoupled from the gradient)",
       [](C& c) -> T { return &c.optimizer.weight_decay; }},

      {"schedule.name", "how the learning rate changes", [](C& c) -> T { return &c.schedule.name; },
       schedule_names()},
      {"schedule.warmup_epochs", "the rate grows from 0 over so many epochs first",
       [](C& c) -> T { return &c.schedule.warmup_epochs; }},
      {"schedule.step_epochs",
       "step: multiplied by step_factor after every so many epochs",
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
       "cosine, linear: what is left of the rate at the end",
       [](C& c) -> T { return &c.schedule.final_factor; },
       {},
       0,
       false,
       1},
      {"schedule.scale_with_ranks", "the rate is multiplied by the number of ranks",
       [](C& c) -> T { return &c.schedule.scale_with_ranks; }},

      {"device.name",
       "what computes",
       [](C& c) -> T { return &c.device.name; },
       {"cpu", "reference"}},
      {"device.threads",
       "threads of one rank; results do not depend on it",
       [](C& c) -> T { return &c.device.threads; },
       {},
       1,
       false,
       1024},
  };
  return all;
}

}  // namespace lockstep
