#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "os/files.h"
#include "report/run_kind.h"

namespace lockstep {

// What a run folder says of its run: summary.json, and of config.toml how batches were cut.
struct RunRecord {
  std::string name;
  fs::path path;
  RunKind kind = RunKind::measured;
  std::string data, device, versions, diagnosis;
  int64_t ranks = 1;
  bool full_batch = false;  // one step has all samples
  // Samples of one step: of each rank that trains, and of all.
  std::optional<double> batch_per_rank, global_batch;
  std::optional<double> learning_rate;  // before the schedule
  std::optional<double> epochs;         // not whole where a run ended within one
  std::optional<double> test_accuracy, test_loss, samples_per_second, total_seconds;
  // Of a step: computing, communication, waiting, loading. Empty for one rank.
  std::vector<double> shares;
  nlohmann::ordered_json summary;
  std::string config;  // the text of config.toml

  std::string shown_name() const;  // with its kind, where it was not plainly measured
};

// Throws a UserError that names what is missing or damaged.
RunRecord read_run_record(const fs::path& folder);

// The number in a summary under a name with dots for what is inside; of a list, its median.
std::optional<double> figure_of(const nlohmann::ordered_json& summary, const std::string& column);

}  // namespace lockstep
