#include "comm/algorithms/swap.h"

#include <vector>

#include "comm/algorithms/segments.h"

namespace lockstep {
namespace {

void send_segments(Channel& ranks, std::span<const float> data, int to, int tag,
                   std::vector<Request>& requests) {
  const Segments leaving(data, swap_segment);
  for (size_t i = 0; i < leaving.count(); ++i)
    requests.push_back(ranks.send(std::as_bytes(leaving.at(i)), to, tag));
}

}  // namespace

Task swap(Channel& ranks, std::span<const float> out, int to, std::span<float> in, int from,
          int tag) {
  const Segments expected(in, swap_segment);
  std::vector<Request> moving;
  for (size_t i = 0; i < expected.count(); ++i)
    moving.push_back(ranks.receive(std::as_writable_bytes(expected.at(i)), from, tag));
  send_segments(ranks, out, to, tag, moving);
  for (Request& request : moving) co_await std::move(request);
}

Task swap_and_add(Channel& ranks, std::span<const float> out, int to, std::span<float> sum,
                  int from, const SegmentBuffer& buffer, int tag) {
  const Segments expected(sum, swap_segment);
  std::vector<Request> sent;
  send_segments(ranks, out, to, tag, sent);
  for (size_t i = 0; i < expected.count(); ++i) {
    const std::span<float> arrived = buffer.first(expected.at(i).size());
    co_await ranks.receive(std::as_writable_bytes(arrived), from, tag);
    ranks.add(expected.at(i), arrived);
  }
  for (Request& request : sent) co_await std::move(request);
}

}  // namespace lockstep
