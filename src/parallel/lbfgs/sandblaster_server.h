#pragma once

#include <vector>

#include "parallel/lbfgs/lbfgs_history.h"
#include "parallel/lbfgs/sandblaster_messages.h"
#include "parallel/lbfgs/tree_sum.h"
#include "parallel/worker.h"

namespace lockstep::sandblaster {

// A server holds a shard of weights, gradient, direction and history, and works on it as the
// coordinator commands. Vectors never leave it, except weights for workers.
class Server {
 public:
  Server(Worker& worker, const OptimizerConfig& optimizer, const ArenaPart& shard, int coordinator);

  void serve();  // one epoch
  std::vector<HostMirror> mirrors() { return history_.mirrors(); }

 private:
  std::span<float> weights() const { return history_.part().of(worker_.parameters.weights()); }
  std::span<float> gradient() const { return history_.part().of(worker_.parameters.gradients()); }
  bool obey(const Command& command, int from);  // false: the epoch ends
  void send_weights(int to);
  void add_gradient(const Command& command, int from);
  void finish_if_complete();
  void begin_line(int64_t coefficients);
  void products(int64_t vectors);
  void reply(std::span<const double> values);
  template <typename T>
  std::vector<T> operand(int64_t count);

  Worker& worker_;
  Communicator& ranks_;
  double decay_;
  int coordinator_;
  LbfgsHistory history_;
  DeviceMemory weights_before_, gradient_before_, direction_;
  TreeSum sum_;
  int64_t evaluation_ = -1;
  bool finishing_ = false;
  struct Waiting {
    int worker;
    int64_t evaluation;
  };
  std::vector<Waiting> waiting_;  // workers that ask for weights which are not there yet
};

}  // namespace lockstep::sandblaster
