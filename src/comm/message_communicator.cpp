#include "comm/message_communicator.h"

#include <algorithm>

#include "comm/algorithms/all_reduce.h"
#include "comm/algorithms/broadcast.h"
#include "comm/algorithms/gather.h"
#include "comm/algorithms/reduce.h"
#include "comm/algorithms/reduce_scatter.h"
#include "comm/algorithms/rounded.h"

namespace lockstep {
namespace {

template <typename From, typename To>
void copy(std::span<From> from, std::span<To> to) {
  if (from.data() != to.data()) std::copy(from.begin(), from.end(), to.begin());
}

std::vector<int64_t> kept(std::span<const int64_t> counts) {
  return {counts.begin(), counts.end()};
}

}  // namespace

int MessageCommunicator::ranks_per_node() const {
  if (ranks_per_node_ < 0) ranks_per_node_ = Channel::ranks_per_node();
  return ranks_per_node_;
}

std::string MessageCommunicator::all_reduce_algorithm(size_t bytes) const {
  return to_text(all_reduce_way(size(), ranks_per_node(), bytes));
}

Request MessageCommunicator::all_reduce(std::span<const float> from, std::span<float> to) {
  if (carries(from.size_bytes())) copy(from, to);
  if (size() == 1) return {};
  const int tag = tag_for(Collective::all_reduce, from.size_bytes());
  return start(all_reduce_by_messages(*this, to, tag), Collective::all_reduce, from.size_bytes(),
               nullptr);
}

Request MessageCommunicator::all_reduce_rounded(std::span<float> data, Compression compression,
                                                size_t exact) {
  if (size() == 1) return {};
  const int tag = tag_for(Collective::all_reduce, data.size_bytes());
  return start(all_reduce_rounded_by_messages(*this, data, compression, exact, tag),
               Collective::all_reduce, data.size_bytes(), nullptr);
}

Request MessageCommunicator::reduce_rounded(std::span<float> data, int root,
                                            Compression compression, size_t exact) {
  if (size() == 1) return {};
  const int tag = tag_for(Collective::reduce, data.size_bytes());
  return start(reduce_rounded_by_messages(*this, data, root, compression, exact, tag),
               Collective::reduce, data.size_bytes(), nullptr);
}

Request MessageCommunicator::reduce(std::span<const float> from, std::span<float> to, int root) {
  std::unique_ptr<float[]> scratch;
  if (from.data() != to.data() && rank() != root) {
    scratch = std::make_unique_for_overwrite<float[]>(from.size());
    to = {scratch.get(), from.size()};
  }
  if (carries(from.size_bytes())) copy(from, to);
  if (size() == 1) return {};
  const int tag = tag_for(Collective::reduce, from.size_bytes());
  return start(reduce_by_messages(*this, to, root, tag), Collective::reduce, from.size_bytes(),
               std::move(scratch));
}

Request MessageCommunicator::reduce_scatter(std::span<const float> from, std::span<float> to,
                                            std::span<const int64_t> counts) {
  const int tag = tag_for(Collective::reduce_scatter, from.size_bytes());
  return start(reduce_scatter_by_messages(*this, from, to, {counts.begin(), counts.end()}, tag),
               Collective::reduce_scatter, from.size_bytes(), nullptr);
}

Request MessageCommunicator::broadcast(Bytes data, int root) {
  if (size() == 1) return {};
  const int tag = tag_for(Collective::broadcast, data.size());
  return start(broadcast_by_messages(*this, data, root, tag), Collective::broadcast, data.size(),
               nullptr);
}

Request MessageCommunicator::gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts,
                                    int root) {
  if (rank() == root) copy(mine, block_of(all, counts, root));
  const int tag = tag_for(Collective::gather, mine.size());
  return start(gather_by_messages(*this, mine, all, kept(counts), root, tag), Collective::gather,
               mine.size(), nullptr);
}

Request MessageCommunicator::scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts,
                                     int root) {
  if (rank() == root) copy(block_of(all, counts, root), mine);
  const int tag = tag_for(Collective::scatter, mine.size());
  return start(scatter_by_messages(*this, all, mine, kept(counts), root, tag), Collective::scatter,
               mine.size(), nullptr);
}

Request MessageCommunicator::all_gather(ConstBytes mine, Bytes all,
                                        std::span<const int64_t> counts) {
  copy(mine, block_of(all, counts, rank()));
  const int tag = tag_for(Collective::all_gather, all.size());
  return start(all_gather_by_messages(*this, all, kept(counts), tag), Collective::all_gather,
               all.size(), nullptr);
}

}  // namespace lockstep
