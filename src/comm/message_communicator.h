#pragma once

#include <memory>

#include "comm/collective.h"
#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Collectives built from point-to-point messages (algorithms/). Real and simulated backends run the
// same code.
class MessageCommunicator : public Communicator {
 public:
  int ranks_per_node() const override;
  void assume_ranks_per_node(int count) override { ranks_per_node_ = count; }
  std::string all_reduce_algorithm(size_t bytes) const override;
  Request all_reduce(std::span<const float> from, std::span<float> to) override;
  Request all_reduce_rounded(std::span<float> data, Compression compression, size_t exact) override;
  Request reduce_rounded(std::span<float> data, int root, Compression compression,
                         size_t exact) override;
  Request reduce(std::span<const float> from, std::span<float> to, int root) override;
  Request reduce_scatter(std::span<const float> from, std::span<float> to,
                         std::span<const int64_t> counts) override;
  Request broadcast(Bytes data, int root) override;
  Request gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts, int root) override;
  Request scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts, int root) override;
  Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) override;

 protected:
  // Tag for the messages of one operation on `bytes` bytes: negative, and not used by another
  // operation in flight.
  virtual int tag_for(Collective operation, size_t bytes) = 0;
  // Starts an operation, which takes ownership of `scratch`, memory that its task works on.
  virtual Request start(Task task, Collective operation, size_t bytes,
                        std::unique_ptr<float[]> scratch) = 0;

 private:
  mutable int ranks_per_node_ = -1;  // -1: not known yet
};

}  // namespace lockstep
