#pragma once

#include <memory>

#include "comm/collective.h"
#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Collectives as algorithms over messages (algorithms/), for backends that have messages: real and
// simulated ones run the same code.
class MessageCommunicator : public Communicator {
 public:
  Request all_reduce(std::span<const float> from, std::span<float> to) override;
  Request reduce(std::span<const float> from, std::span<float> to, int root) override;
  Request reduce_scatter(std::span<const float> from, std::span<float> to) override;
  Request broadcast(Bytes data, int root) override;
  Request gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts, int root) override;
  Request scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts, int root) override;
  Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) override;

 protected:
  // A tag for the messages of one operation on `bytes` bytes: negative, and not in use by another
  // operation under way.
  virtual int tag_for(Collective operation, size_t bytes) = 0;
  // Begins an operation. `scratch`: memory that the task works on and nobody else keeps.
  virtual Request start(Task task, Collective operation, size_t bytes,
                        std::unique_ptr<float[]> scratch) = 0;
  // Whether the numbers in messages of this size matter; in a simulation they may not.
  virtual bool carries(size_t) const { return true; }
};

}  // namespace lockstep
