#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct Evaluation {
  double loss = 0;
  double accuracy = 0;
  double seconds = 0;
  int64_t samples = 0;
  int64_t steps = 0;
};

struct RunStart {
  std::string name;
  std::string data;  // where the samples came from
  std::string device;
  int64_t parameters = 0;
  int64_t samples = 0;  // in the training part
  int64_t epochs = 0;
  int64_t steps_per_epoch = 0;
};

struct StepReport {
  int64_t epoch = 0;                          // from 1
  int64_t step = 0;                           // within the epoch, from 1
  int64_t global_step = 0;                    // from 1
  double loss = 0;                            // of this batch
  double epoch_loss = 0, epoch_accuracy = 0;  // so far in this epoch
  double gradient_norm = 0;
  double learning_rate = 0;
};

struct EpochReport {
  int64_t epoch = 0;
  int64_t global_step = 0;
  double loss = 0, accuracy = 0;  // over the epoch, while training
  double seconds = 0;             // training only
  double samples_per_second = 0;
  double gradient_norm = 0, learning_rate = 0;  // of the last step
  std::optional<Evaluation> validation;
};

enum class Ending { finished, early, interrupted };

struct Summary {
  std::string name, data, device;
  int64_t seed = 0;
  int64_t parameters = 0;
  int64_t epochs = 0;  // done
  double train_loss = 0, train_accuracy = 0;
  std::optional<Evaluation> validation, test;
  int64_t best_epoch = 0;  // whose weights were kept, where the best are
  double read_seconds = 0;
  double gradient_seconds = 0;  // median of a batch
  std::vector<double> epoch_seconds;
  double total_seconds = 0;
  double samples_per_second = 0;
  int64_t peak_memory_bytes = 0;
  Ending ending = Ending::finished;
};

const char* ending_name(Ending ending);

// The only way out for figures: the run folder, the terminal and later tools all listen here.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void run_started(const RunStart&) {}
  virtual void step_done(const StepReport&) {}
  virtual void epoch_done(const EpochReport&) {}
  virtual void run_ended(const Summary&) {}
};

class Observers final : public Observer {
 public:
  void add(Observer& observer) { all_.push_back(&observer); }
  void run_started(const RunStart& r) override {
    for (Observer* o : all_) o->run_started(r);
  }
  void step_done(const StepReport& r) override {
    for (Observer* o : all_) o->step_done(r);
  }
  void epoch_done(const EpochReport& r) override {
    for (Observer* o : all_) o->epoch_done(r);
  }
  void run_ended(const Summary& r) override {
    for (Observer* o : all_) o->run_ended(r);
  }

 private:
  std::vector<Observer*> all_;
};

}  // namespace lockstep
