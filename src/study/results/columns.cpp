#include "study/results/columns.h"

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "report/numbers.h"

namespace lockstep {

const std::vector<ColumnKind>& known_columns() {
  static const std::vector<ColumnKind> all = {
      {"total_seconds", "total s", "reading, training and testing", false, RelativeTo::nothing,
       "Total time"},
      {"read_seconds", "read s", "reading the data"},
      {"gradient_seconds", "gradient s", "gradients of one batch, median"},
      {"epoch_seconds", "epoch s", "one epoch, median"},
      {"until_seconds", "s to target", "training until train.until is reached"},
      {"until_epochs", "epochs to target", "until train.until is reached"},
      {"samples_per_second", "samples/s", "throughput of training"},
      {"test_accuracy", "test accuracy", "on the test part", true},
      {"test_loss", "test loss", "on the test part"},
      {"validation_accuracy", "validation accuracy", "on the validation part", true},
      {"validation_loss", "validation loss", "on the validation part"},
      {"train_accuracy", "train accuracy", "of the last epoch; of folds: their mean", true},
      {"train_loss", "train loss", "of the last epoch"},
      {"fold_accuracy", "fold accuracy", "mean of the folds", true},
      {"fold_accuracy_deviation", "± folds", "standard deviation between folds", true},
      {"fold_seconds", "fold s", "all folds, added up"},
      {"precision_at_10", "precision@10", "hidden follows among ten recommended"},
      {"recall_at_10", "recall@10", "of the hidden follows among ten recommended"},
      {"test_perplexity", "test perplexity", "on the test part"},
      {"validation_perplexity", "validation perplexity", "on the validation part"},
      {"first_loss", "first loss", "of the first step"},
      {"epochs", "epochs", "that were trained"},
      {"best_epoch", "best epoch", "by validation loss"},
      {"parameters", "parameters", "of the network"},
      {"global_batch", "global batch", "samples per step of all ranks"},
      {"peak_memory_bytes", "peak bytes", "memory of rank 0"},
      {"parallel.gradient_bytes_per_step", "bytes per step", "of gradients, per rank"},
      {"parallel.imbalance", "imbalance", "computing of the slowest rank above the mean", true},
      {"parallel.loading_share", "loading", "waiting for samples", true},
      {"parallel.hidden_communication_share", "hidden communication", "by the backward pass", true},
      {"parallel.exposed_communication_share", "communication", "not hidden", true},
      {"parallel.waiting_share", "waiting", "for other ranks", true},
      {"parallel.computing_share", "computing", "", true},
      {"speed_up", "speed-up", "T1 / Tn", false, RelativeTo::base_over},
      {"efficiency", "efficiency", "speed-up / n; weak scaling: T1 / Tn", true, RelativeTo::base},
      {"improvement", "PI %", "(T1 - Tn) / T1 × 100", false, RelativeTo::base},
      {"gain", "gain %", "against the slowest point: Tmax / T × 100", false, RelativeTo::slowest},
      {"karp_flatt", "Karp-Flatt", "serial share: (1/S - 1/n) / (1 - 1/n)", false,
       RelativeTo::base},
  };
  return all;
}

ColumnKind column_named(const std::string& name) {
  for (const ColumnKind& column : known_columns())
    if (column.name == name) return column;
  return {name, name, ""};
}

std::string value_text(double value, const ColumnKind& column) {
  return column.percentage ? percent_text(value) : number_text(value);
}

void check_column(const std::string& name, const std::string& source) {
  std::vector<std::string> names;
  for (const ColumnKind& column : known_columns()) {
    if (column.name == name) return;
    names.push_back(column.name);
  }
  throw UserError("{}: there is no column '{}'; {}", source, printable(name),
                  suggestion(name, names));
}

}  // namespace lockstep
