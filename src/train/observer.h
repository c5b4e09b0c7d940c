#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/affinity.h"
#include "parallel/step_result.h"

namespace lockstep {

struct Evaluation {
  double loss = 0;
  double accuracy = 0;
  double seconds = 0;
  int64_t samples = 0;
  int64_t steps = 0;
  double loss_sum = 0;  // summed over samples
  int64_t correct = 0;  // correct answers
  int64_t answers = 1;  // per sample: one, or for text one per position
};

struct RunStart {
  std::string name;
  std::string data;  // where the samples came from
  std::string device;
  int64_t parameters = 0;
  int64_t samples = 0;  // in the training part
  int64_t epochs = 0;
  int64_t steps_per_epoch = 0;
  int ranks = 1;
  std::string strategy, backend;
  int64_t steps_done = 0;  // before this start, if the run was resumed
};

struct StepReport {
  int64_t epoch = 0;                          // from 1
  double epochs_done = 0;                     // 1.5: in the middle of the second
  int64_t step = 0;                           // within the epoch, from 1
  int64_t global_step = 0;                    // from 1
  double loss = 0;                            // of this batch
  double epoch_loss = 0, epoch_accuracy = 0;  // so far in this epoch
  double gradient_norm = 0;
  double learning_rate = 0;
  StepTimes times;  // of this rank
};

struct EpochReport {
  int64_t epoch = 0;
  double epochs_done = 0;  // fractional if the run ended within the epoch
  int64_t global_step = 0;
  double loss = 0, accuracy = 0;  // over the epoch, while training
  double seconds = 0;             // training only
  double samples_per_second = 0;
  double gradient_norm = 0, learning_rate = 0;  // of the last step
  std::optional<Evaluation> validation;
};

// An evaluation on the validation part in the middle of an epoch.
struct EvaluationReport {
  double epochs_done = 0;
  int64_t global_step = 0;
  Evaluation evaluation;
};

// Host, cores and times of one rank.
struct RankTimes {
  std::string host;
  CoreMask cores{};  // cores that the rank may use
  int threads = 1;
  StepTimes times;
  std::string machine = {};  // hosts may be parts of one; empty: as the host
};

// A run of one rank that parallel runs are compared with.
struct Baseline {
  std::string run;  // its folder
  double samples_per_second = 0;
  double gradient_seconds = 0;  // per batch
  int64_t batch = 0;            // samples per batch; 0: unknown
};

// Figures of a run on several ranks. Shares are of the time that training ranks spent in steps.
struct ParallelFigures {
  int64_t ranks = 1, hosts = 1;
  int64_t training = 1;  // number of ranks that have samples
  int64_t stages = 1;    // ranks per replica of the network
  double bubble = 0;     // share of the time that stages wait by their schedule
  int64_t cores = 1;     // number of cores that the ranks may use, on all machines
  std::string backend, strategy;
  int ranks_per_node = 0;       // that algorithms were chosen for; 0: it differs
  std::string all_reduce;       // algorithm for all gradients
  bool oversubscribed = false;  // more threads than cores
  bool emulated_hosts = false;  // several hosts are parts of one machine
  double computing_share = 1, hidden_share = 0, exposed_share = 0, waiting_share = 0;
  double loading_share = 0;
  double imbalance = 0;                             // compute time of the slowest rank / mean - 1
  double compute_seconds = 0, exposed_seconds = 0;  // per step, mean of the training ranks
  int64_t bytes_per_step = 0, global_batch = 0;
  std::vector<RankTimes> by_rank;
  std::optional<Baseline> baseline;     // set by --baseline
  double speed_up = 0, efficiency = 0;  // relative to the baseline
  std::vector<NamedFigure> own;         // of the strategy, e.g. staleness
  std::string bound;                    // what takes most of the time, in words
  std::string diagnosis;                // empty: nothing to report
};

// Figures of a simulated run.
struct SimulationFigures {
  std::string cluster, profile, engine;
  double step_seconds = 0;              // expected median
  double undisturbed_step_seconds = 0;  // on a machine without other load
  double low = 0, high = 0;             // the band of step_seconds
  int64_t memory_bytes = 0;             // per rank
  bool disturbed = false;               // measured while the machine was busy
  bool extrapolated = false;            // to more threads than were measured
  std::vector<std::string> cautions;    // where the prediction goes beyond measurements
};

// How long it took to reach train.until.
struct TargetResult {
  std::string target;
  bool reached = false;
  double seconds = 0, epochs = 0;  // training and evaluations
  bool on_test = false;            // there is no validation part
};

enum class Ending { finished, early, interrupted };
template <>
inline constexpr auto enum_texts<Ending> = std::array{"finished", "stopped early", "interrupted"};

struct Summary {
  std::string name, data, device;
  int64_t seed = 0;
  int64_t parameters = 0;
  double epochs = 0;      // done; not an integer if the last is incomplete
  double first_loss = 0;  // of the first step; 0: unknown
  double train_loss = 0, train_accuracy = 0;
  int64_t global_batch = 0;  // samples per step of all ranks together
  double learning_rate = 0;  // before the schedule; includes schedule.scale_with_ranks
  std::optional<Evaluation> validation, test;
  std::optional<TargetResult> target;
  int64_t best_epoch = 0;  // epoch whose weights were kept, with train.keep = "best"
  double read_seconds = 0;
  double gradient_seconds = 0;  // per step, median
  std::vector<double> epoch_seconds;
  double total_seconds = 0;
  double samples_per_second = 0;
  int64_t peak_memory_bytes = 0;
  Ending ending = Ending::finished;
  std::vector<NamedFigure> figures;         // of the kind of data, e.g. precision_at_10
  std::optional<ParallelFigures> parallel;  // only with several ranks
  std::optional<SimulationFigures> simulated;

  // The loss ended far above its start: nothing was learnt.
  bool loss_rose() const { return first_loss > 0 && train_loss > 1.5 * first_loss; }
};

// The only way figures leave a training: run folder, terminal and other tools are observers.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void run_started(const RunStart&) {}
  virtual void step_done(const StepReport&) {}
  virtual void evaluated(const EvaluationReport&) {}
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
  void evaluated(const EvaluationReport& r) override {
    for (Observer* o : all_) o->evaluated(r);
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
