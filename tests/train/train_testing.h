#pragma once

#include <atomic>
#include <cstdlib>
#include <vector>

#include "comm/backend/self.h"
#include "data/data_testing.h"
#include "train/trainer.h"

namespace lockstep {

// Records the reports of a run; can stop the run after a step or epoch.
class Record final : public Observer {
 public:
  std::vector<StepReport> steps;
  std::vector<EpochReport> epochs;
  std::atomic<bool> stop{false};
  int64_t stop_at = 0;        // after this step
  int64_t stop_at_epoch = 0;  // after this epoch

  void step_done(const StepReport& report) override {
    steps.push_back(report);
    if (report.global_step == stop_at) stop = true;
  }
  void epoch_done(const EpochReport& report) override {
    epochs.push_back(report);
    if (report.epoch == stop_at_epoch) stop = true;
  }
};

// LOCKSTEP_TEST_DEVICE runs the same tests on another device, e.g. one whose memory is not the
// host's.
inline std::unique_ptr<Device> make_test_device(DeviceConfig config) {
  if (const char* name = std::getenv("LOCKSTEP_TEST_DEVICE")) config.name = name;
  return make_device(config);
}

inline std::vector<float> copy_of(const HostMirror& memory) {
  const std::span<const float> values = memory.download();
  return {values.begin(), values.end()};
}

// A training run of one rank, in memory.
struct Training {
  DataSplits data;
  std::unique_ptr<Device> device;
  WallClock clock;
  Record record;
  std::unique_ptr<Communicator> ranks = make_self_communicator();
  Trainer trainer;
  Summary summary;

  explicit Training(const RunConfig& config)
      : data(load_data(config.data, static_cast<uint64_t>(config.seed))),
        device(make_test_device(config.device)),
        trainer(config, *ranks, *device, clock, data, record) {}

  Training& run() {
    summary = trainer.run(record.stop);
    return *this;
  }
  std::vector<float> weights() const { return copy_of(trainer.parameters().weights_on_host()); }
  std::vector<float> state() const { return copy_of(trainer.parameters().state_on_host()); }
};

inline RunConfig iris_config() {
  RunConfig config;
  config.name = "iris-test";
  config.model.layers = {"dense 20 relu", "dropout 0.1", "dense 3"};
  config.data = {
      .name = "iris", .normalize = Normalize::standardize, .test = 0.2, .stratified = true};
  config.train.epochs = 5;
  config.train.batch = 16;
  config.optimizer.lr = 0.01;
  return config;
}

// Images, with pooling, batch normalisation and dropout.
inline RunConfig digits_config() {
  RunConfig config;
  config.name = "digits-test";
  config.model.layers = {"conv 4 3x3 relu", "maxpool 2",   "conv 6 3x3",
                         "batchnorm relu",  "dropout 0.3", "dense 10"};
  config.data = {.name = "mnist-sample", .limit = 200};
  config.train.epochs = 2;
  config.train.batch = 32;
  return config;
}

}  // namespace lockstep
