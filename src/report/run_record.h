#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "os/files.h"
#include "report/run_kind.h"

namespace lockstep {

// The contents of a run folder: summary.json, and batch sizes and learning rate of config.toml.
struct RunRecord {
  std::string name;
  fs::path path;
  RunKind kind = RunKind::measured;
  std::string data, device, versions, diagnosis;
  int64_t ranks = 1;
  bool full_batch = false;  // a step trains on all samples
  // Samples per step: per training rank, and of all ranks together.
  std::optional<double> batch_per_rank, global_batch;
  std::optional<double> learning_rate;  // before the schedule
  std::optional<double> epochs;         // fractional if the run ended within an epoch
  std::optional<double> test_accuracy, test_loss, samples_per_second, total_seconds;
  // Fractions of a step: computing, exposed communication, waiting, loading. Empty for one rank.
  std::vector<double> shares;
  nlohmann::ordered_json summary;
  std::string config;  // the text of config.toml

  std::string shown_name() const;  // with its kind, unless measured
};

// Throws a UserError that names what is missing or damaged.
RunRecord read_run_record(const fs::path& folder);

// The number of a summary at a path with dots, such as "parallel.ranks"; of a list, its median.
std::optional<double> figure_of(const nlohmann::ordered_json& summary, const std::string& column);

}  // namespace lockstep
