#pragma once

#include <optional>
#include <vector>

#include "optim/lbfgs.h"
#include "optim/optimizer.h"
#include "parallel/lbfgs/lbfgs_history.h"
#include "parallel/lbfgs/portion_queue.h"
#include "parallel/lbfgs/sandblaster_messages.h"
#include "parallel/step_result.h"

namespace lockstep::sandblaster {

// The coordinator holds no parameters: it decides from a few sums, commands the servers, and deals
// portions of the batch to workers.
class Coordinator final : private LbfgsVectors {
 public:
  Coordinator(Communicator& ranks, const OptimizerConfig& optimizer, int workers,
              std::vector<ArenaPart> shards, bool computes);

  void serve();  // one epoch
  Lbfgs& lbfgs() { return lbfgs_; }
  std::vector<NamedFigure> figures() const;

 private:
  // Of one evaluation of the loss.
  struct Sums {
    double loss = 0, gradient_squares = 0, slope = 0;
    double rows_loss = 0;  // without weight decay
    int64_t correct = 0;
  };

  bool begin_step();  // false: the epoch ends
  void make_step();
  void end_step(const Sums& sums);
  Sums evaluate();
  void wait_for_worker();
  void deal(int worker);

  void command(const Command& command);
  template <typename T>
  void command(const Command& command, std::span<const T> operand);
  // Sums over the blocks of all servers, `values` of them.
  std::vector<double> replies(size_t values);

  int history() const override { return history_; }
  std::vector<double> products(std::span<const int> vectors) override;
  double begin_line(std::span<const double> coefficients) override;
  LinePoint move(double step) override;
  void move_back() override { command({.kind = Command::Kind::move_back}); }
  void remember(int slot) override { command({.kind = Command::Kind::remember, .slot = slot}); }
  bool computes() const override { return computes_; }

  Communicator& ranks_;
  double decay_;
  bool computes_;
  int64_t iterations_;
  int history_, workers_;
  std::vector<ArenaPart> shards_;
  Lbfgs lbfgs_;

  int64_t step_ = 0;  // of the epoch
  Ask begin_;         // of the step
  bool begun_ = false, stop_ = false;
  int ended_ = 0;           // workers that have ended the epoch
  std::vector<Task> ends_;  // of the epoch's steps so far, for workers that are behind
  std::vector<int> idle_;   // workers that wait for a portion
  std::optional<PortionQueue> queue_;
  std::vector<double> losses_;  // by portion
  int64_t correct_ = 0;
  int64_t evaluation_ = -1;
  Sums last_;
  int64_t evaluations_ = 0, backups_ = 0, steps_ = 0;
};

}  // namespace lockstep::sandblaster
