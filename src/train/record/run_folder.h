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

// What a run leaves behind: config.toml, metrics.jsonl, summary.json, model/ and events for
// TensorBoard. The run's identifier is in all of them that outlive it.
class RunFolder final : public Observer {
 public:
  // Makes the folder and checks that it can be written before any training is done. Of a run that
  // goes on (`resumed`) the metrics up to its checkpoint are kept.
  RunFolder(const fs::path& path, const RunConfig& config,
            const std::optional<ResumedFrom>& resumed = std::nullopt);

  const fs::path& path() const { return path_; }
  const std::string& run() const { return run_; }  // its identifier
  // All lines of metrics so far are with the kernel; the length of their file.
  int64_t flush_metrics();
  void step_done(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;
  void epoch_done(const EpochReport& report) override;
  void run_ended(const Summary& summary) override;  // and finishes

  void save(const Parameters& parameters, const Network& network, const DataSplits& data);
  void finish() { files_.commit(); }  // all that was saved is on the disk

 private:
  void log(int64_t step, const MetricsLine& line);

  fs::path path_;
  std::string run_;
  int64_t log_every_;
  LineFile metrics_;
  std::unique_ptr<EventFile> events_;  // where TensorBoard's are wanted
  FileGroup files_;
};

// Files of a model, and their digests.
using ModelFiles = std::vector<std::pair<std::string, std::vector<uint8_t>>>;
void stage_model(FileGroup& group, const fs::path& folder, const ModelFiles& files,
                 const std::string& run);

// The content of model.safetensors.
std::vector<uint8_t> saved_model(const Parameters& parameters, const Network& network,
                                 const std::vector<std::string>& classes,
                                 const Normalizer& normalizer);

std::string summary_json(const Summary& summary);

// A finished run of one rank, to compare others with; a UserError where it is not one.
Baseline read_baseline(const fs::path& run);

// A trained network as a run left it.
struct SavedRun {
  fs::path path;
  RunConfig config;
  std::unique_ptr<Network> network;
  std::unique_ptr<Parameters> parameters;
  std::vector<std::string> classes;
  Normalizer normalizer;
  bool has_digests = true;  // what was loaded was compared with its digests
};
SavedRun load_run(const fs::path& path);

// Comment lines above a saved configuration, and the identifier they hold; empty: of 0.1.0, or not
// a run's.
std::string config_head(const std::string& run);
std::string run_of_config(const std::string& text);

}  // namespace lockstep
