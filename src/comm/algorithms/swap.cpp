#include "comm/algorithms/swap.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

// Whether the calling rank exchanges data with one other rank, on another node.
bool keeps_in_step(const Channel& ranks, int to, int from) {
  return to == from && ranks.node_of(to) != ranks.node_of(ranks.rank());
}

// One direction of an exchange, cut into segments.
template <typename T>
class Direction {
 public:
  Direction(std::span<T> data, bool in_step)
      : data_(data), short_(in_step ? leading_segments : 0) {}

  size_t count() const {
    const size_t rest = data_.size() - begin_of(short_);
    return (begin_of(short_) + leading - 1) / leading + (rest + swapped - 1) / swapped;
  }
  std::span<T> at(size_t i) const {
    return data_.subspan(begin_of(i), begin_of(i + 1) - begin_of(i));
  }

 private:
  static constexpr size_t leading = leading_segment / sizeof(T), swapped = swap_segment / sizeof(T);

  size_t begin_of(size_t i) const {
    const size_t first = std::min(i, short_);
    return std::min(first * leading + (i - first) * swapped, data_.size());
  }

  std::span<T> data_;
  size_t short_;  // number of leading segments
};

// Sends one direction of an exchange.
class Sender {
 public:
  Sender(Channel& ranks, std::span<const float> data, int to, int tag, bool in_step)
      : ranks_(ranks), to_(to), tag_(tag), segments_(data, in_step) {
    sent_.reserve(segments_.count());
  }

  // Sends the segments before this one that have not been sent yet.
  void send_until(size_t end) {
    for (size_t i = sent_.size(); i < std::min(end, segments_.count()); ++i)
      sent_.push_back(ranks_.send(std::as_bytes(segments_.at(i)), to_, tag_));
  }
  void send_all() { send_until(segments_.count()); }
  std::vector<Request>& sent() { return sent_; }

 private:
  Channel& ranks_;
  int to_, tag_;
  Direction<const float> segments_;
  std::vector<Request> sent_;
};

}  // namespace

Task swap(Channel& ranks, std::span<const float> out, int to, std::span<float> in, int from,
          int tag) {
  const bool in_step = keeps_in_step(ranks, to, from);
  const Direction<float> expected(in, in_step);
  std::vector<Request> arriving;
  arriving.reserve(expected.count());
  for (size_t i = 0; i < expected.count(); ++i)
    arriving.push_back(ranks.receive(std::as_writable_bytes(expected.at(i)), from, tag));
  Sender sender(ranks, out, to, tag, in_step);
  if (in_step && !arriving.empty()) {
    sender.send_until(leading_segments);
    co_await std::exchange(arriving.front(), {});
  }
  sender.send_all();
  for (Request& request : arriving) co_await std::move(request);
  for (Request& request : sender.sent()) co_await std::move(request);
}

Task swap_and_add(Channel& ranks, std::span<const float> out, int to, std::span<float> sum,
                  int from, const SegmentBuffer& buffer, int tag) {
  const bool in_step = keeps_in_step(ranks, to, from);
  Sender sender(ranks, out, to, tag, in_step);
  if (in_step && !sum.empty())
    sender.send_until(leading_segments);
  else
    sender.send_all();
  const Direction<float> expected(sum, in_step);
  for (size_t i = 0; i < expected.count(); ++i) {
    const std::span<float> segment = expected.at(i);
    const std::span<float> arrived = buffer.first(segment.size());
    co_await ranks.receive(std::as_writable_bytes(arrived), from, tag);
    sender.send_all();
    ranks.add(segment, arrived);
  }
  for (Request& request : sender.sent()) co_await std::move(request);
}

}  // namespace lockstep
