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

// One direction of an exchange.
template <typename T>
std::vector<std::span<T>> segments_of(std::span<T> data, bool in_step) {
  std::vector<std::span<T>> segments;
  while (!data.empty()) {
    const bool leads = in_step && segments.size() < leading_segments;
    const size_t most = (leads ? leading_segment : swap_segment) / sizeof(T);
    segments.push_back(data.first(std::min(most, data.size())));
    data = data.subspan(segments.back().size());
  }
  return segments;
}

// Sends one direction of an exchange.
class Sender {
 public:
  Sender(Channel& ranks, std::span<const float> data, int to, int tag, bool in_step)
      : ranks_(ranks), to_(to), tag_(tag), segments_(segments_of(data, in_step)) {}

  // Sends the segments before this one that have not been sent yet.
  void send_until(size_t end) {
    for (; sent_.size() < std::min(end, segments_.size());)
      sent_.push_back(ranks_.send(std::as_bytes(segments_[sent_.size()]), to_, tag_));
  }
  void send_all() { send_until(segments_.size()); }
  std::vector<Request>& sent() { return sent_; }

 private:
  Channel& ranks_;
  int to_, tag_;
  std::vector<std::span<const float>> segments_;
  std::vector<Request> sent_;
};

}  // namespace

Task swap(Channel& ranks, std::span<const float> out, int to, std::span<float> in, int from,
          int tag) {
  const bool in_step = keeps_in_step(ranks, to, from);
  std::vector<Request> arriving;
  for (const std::span<float> segment : segments_of(in, in_step))
    arriving.push_back(ranks.receive(std::as_writable_bytes(segment), from, tag));
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
  for (const std::span<float> segment : segments_of(sum, in_step)) {
    const std::span<float> arrived = buffer.first(segment.size());
    co_await ranks.receive(std::as_writable_bytes(arrived), from, tag);
    sender.send_all();
    ranks.add(segment, arrived);
  }
  for (Request& request : sender.sent()) co_await std::move(request);
}

}  // namespace lockstep
