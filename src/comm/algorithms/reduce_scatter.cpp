#include "comm/algorithms/reduce_scatter.h"

#include <memory>
#include <vector>

#include "comm/algorithms/segments.h"
#include "comm/algorithms/swap.h"

namespace lockstep {

Task reduce_scatter_by_messages(Channel& ranks, std::span<const float> from, std::span<float> to,
                                std::vector<int64_t> counts, int tag) {
  const int size = ranks.size(), rank = ranks.rank();
  const auto part = [&](int r) {
    int64_t begin = 0;
    for (int before = 0; before < r; ++before) begin += counts[static_cast<size_t>(before)];
    return from.subspan(static_cast<size_t>(begin),
                        static_cast<size_t>(counts[static_cast<size_t>(r)]));
  };
  const Segments mine(part(rank), swap_segment);
  const Segments sum(to, swap_segment);
  const size_t most = sum.largest();
  const auto buffer = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(size) * most);
  std::vector<Request> sent;
  for (int distance = 1; distance < size; ++distance) {
    const int next = (rank + distance) % size;
    const Segments leaving(part(next), swap_segment);
    for (size_t i = 0; i < leaving.count(); ++i)
      sent.push_back(ranks.send(std::as_bytes(leaving.at(i)), next, tag));
  }
  for (size_t i = 0; i < sum.count(); ++i) {
    const std::span<float> done = sum.at(i);
    const auto of_rank = [&](int r) {
      return std::span(buffer.get() + static_cast<size_t>(r) * most, done.size());
    };
    std::vector<Request> arriving;
    for (int distance = 1; distance < size; ++distance) {
      const int previous = (rank - distance + size) % size;
      arriving.push_back(ranks.receive(std::as_writable_bytes(of_rank(previous)), previous, tag));
    }
    for (Request& request : arriving) co_await std::move(request);
    std::ranges::copy(mine.at(i), of_rank(rank).begin());
    for (int distance = 1; distance < size; distance *= 2)  // neighbours first
      for (int r = 0; r + distance < size; r += 2 * distance)
        ranks.add(of_rank(r), of_rank(r + distance));
    std::ranges::copy(of_rank(0), done.begin());
  }
  for (Request& request : sent) co_await std::move(request);
}

}  // namespace lockstep
