#pragma once

#include <memory>
#include <optional>

#include "config/run_config.h"
#include "data/load.h"
#include "nn/parameters.h"
#include "os/files.h"
#include "train/checkpoint/checkpoint.h"
#include "train/observer.h"
#include "train/record/event_file.h"

namespace lockstep {

class MetricsLine;

// Writes the files of a run: config.toml, metrics.jsonl, summary.json, model/ and events for
// TensorBoard. config.toml, metrics.jsonl and model/digests.txt hold the run's identifier.
class RunFolder final : public Observer {
 public:
  // Makes the folder and writes to it, so that errors show before training. A `resumed` run keeps
  // its metrics up to the checkpoint.
  RunFolder(const fs::path& path, const RunConfig& config,
            const std::optional<ResumedFrom>& resumed = std::nullopt);

  const fs::path& path() const { return path_; }
  const std::string& run() const { return run_; }  // its identifier
  // Passes all metrics to the operating system; returns the length of metrics.jsonl.
  int64_t flush_metrics();
  void step_done(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;
  void epoch_done(const EpochReport& report) override;
  void run_ended(const Summary& summary) override;  // commits all files

  void save(const Parameters& parameters, const Network& network, const DataSplits& data);
  void finish() { files_.commit(); }  // writes all saved files to disk

 private:
  void log(int64_t step, const MetricsLine& line);

  fs::path path_;
  std::string run_;
  int64_t log_every_;
  LineFile metrics_;
  std::unique_ptr<EventFile> events_;  // null: report.tensorboard is false
  FileGroup files_;
};

// Names and contents of a model's files. stage_model() also adds their digests.
using ModelFiles = std::vector<std::pair<std::string, std::vector<uint8_t>>>;
void stage_model(FileGroup& group, const fs::path& folder, const ModelFiles& files,
                 const std::string& run);

// The content of model.safetensors.
std::vector<uint8_t> saved_model(const Parameters& parameters, const Network& network,
                                 const std::vector<std::string>& classes,
                                 const Normalizer& normalizer);

std::string summary_json(const Summary& summary);

// Reads the summary of a run of one rank. Throws a UserError if it is not one.
Baseline read_baseline(const fs::path& run);

// A trained network, loaded from a run folder.
struct SavedRun {
  fs::path path;
  RunConfig config;
  std::unique_ptr<Network> network;
  std::unique_ptr<Parameters> parameters;
  std::vector<std::string> classes;
  Normalizer normalizer;
  bool has_digests = true;  // the loaded files were compared with their digests
};
SavedRun load_run(const fs::path& path);

// Comment lines at the top of a saved configuration, and the run's identifier in them; empty:
// written by 0.1.0, or not by a run.
std::string config_head(const std::string& run);
std::string run_of_config(const std::string& text);

// Whether the run's summary says that it has ended, with at least as many epochs as are wanted. Its
// newest checkpoint may be older.
bool is_finished(const fs::path& run, const RunConfig& wanted);

}  // namespace lockstep
