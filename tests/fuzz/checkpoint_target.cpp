#include "train/checkpoint/checkpoint.h"

#include <algorithm>

#include "comm/backend/self.h"
#include "fuzz_target.h"
#include "train/trainer.h"

namespace lockstep {
namespace {

constexpr int64_t steps_of_the_run = 9, enough_steps = 20;

RunConfig small_run() {
  RunConfig config;
  config.name = "small";
  config.model.layers = {"dense 4 relu", "dense 3"};
  config.data = {
      .name = "iris", .normalize = Normalize::standardize, .validation = 0.2, .test = 0.2};
  config.train.epochs = 3;
  config.train.batch = 40;
  config.train.keep = Keep::best;
  return config;
}

class StopsSoon final : public Observer {
 public:
  explicit StopsSoon(int64_t steps) : left_(steps) {}
  void step_done(const StepReport&) override {
    if (--left_ <= 0) stop = true;
  }
  std::atomic<bool> stop{false};

 private:
  int64_t left_;
};

struct Trial {
  RunConfig config = small_run();
  const DataSplits& data;
  std::unique_ptr<Device> device = make_device(config.device);
  std::unique_ptr<Communicator> ranks = make_self_communicator();
  WallClock clock;
  StopsSoon observer;
  Trainer trainer;

  explicit Trial(int64_t steps)
      : data(samples()), observer(steps), trainer(config, *ranks, *device, clock, data, observer) {}

  static const DataSplits& samples() {
    static const DataSplits all = load_data(small_run().data, 1, [](const std::string&) {});
    return all;
  }
};

// A checkpoint as written by 0.1.0: latest.json, then header and data of the file it names. It has
// no digests, which would reject every change.
void read(const std::string& input) {
  const std::vector<std::string> files = files_of(input, 3);
  const fs::path folder = scratch_folder() / "checkpoints";
  fs::remove_all(folder);
  scratch_file("checkpoints/latest.json", files[0]);
  const int64_t step = info_from(files[0], "latest.json").global_step;
  const fs::path path = checkpoint_file(folder, step, 0);
  scratch_file(path.lexically_relative(scratch_folder()).string(),
               safetensors_of(files[1], files[2]));
  load_checkpoint(path);
  Trial trial(enough_steps);
  trial.trainer.resume(folder);
  const Summary summary = trial.trainer.run(trial.observer.stop);
  expect(summary.ending == Ending::finished && trial.trainer.steps_done() == steps_of_the_run,
         "a resumed run finishes after its planned number of steps");
}

// Stops within the second epoch, so that there are best weights.
std::vector<std::string> seeds() {
  const fs::path folder = scratch_folder() / "seed-checkpoints";
  Trial trial(4);
  trial.trainer.keep_checkpoints_in({.folder = folder});
  trial.trainer.run(trial.observer.stop);
  std::vector<std::string> damaged;
  const fs::path newest = kept_checkpoints(folder, damaged).front().folder;
  const std::vector<std::string> parts = header_and_data(read_text(newest / "rank-0.safetensors"));
  return {joined({read_text(newest / "checkpoint.json"), parts[0], parts[1]})};
}

}  // namespace

FuzzTarget checkpoint_target() { return {"checkpoint", read, seeds}; }

}  // namespace lockstep
