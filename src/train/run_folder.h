#pragma once

#include <memory>

#include "base/files.h"
#include "data/load.h"
#include "nn/parameters.h"
#include "train/event_file.h"
#include "train/observer.h"
#include "train/run_config.h"

namespace lockstep {

class MetricsLine;

// What a run leaves behind: config.toml, metrics.jsonl, summary.json, model/ and events for
// TensorBoard.
class RunFolder final : public Observer {
 public:
  // Makes the folder and checks that it can be written before any training is done.
  // Going on with a run, it adds to the metrics of the steps that were done: `resumed_after`.
  RunFolder(const fs::path& path, const RunConfig& config, int64_t resumed_after = 0);

  const fs::path& path() const { return path_; }
  void step_done(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;
  void epoch_done(const EpochReport& report) override;
  void run_ended(const Summary& summary) override;  // and finishes

  void save(const Parameters& parameters, const Network& network, const DataSplits& data);
  void finish() { files_.commit(); }  // all that was saved is on the disk

 private:
  void log(int64_t step, const MetricsLine& line);

  fs::path path_;
  int64_t log_every_;
  LineFile metrics_;
  std::unique_ptr<EventFile> events_;  // where TensorBoard's are wanted
  FileGroup files_;
};

// The content of model.safetensors.
std::vector<uint8_t> saved_model(const Parameters& parameters, const Network& network,
                                 const std::vector<std::string>& classes,
                                 const Normalizer& normalizer);

std::string summary_json(const Summary& summary);

// Samples a second of a finished run of one rank; a UserError where it is not one.
double one_rank_rate(const fs::path& run);

// A trained network as a run left it.
struct SavedRun {
  fs::path path;
  RunConfig config;
  std::unique_ptr<Network> network;
  std::unique_ptr<Parameters> parameters;
  std::vector<std::string> classes;
  Normalizer normalizer;
};
SavedRun load_run(const fs::path& path);

}  // namespace lockstep
