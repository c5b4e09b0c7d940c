#include "comm/algorithms/swap.h"

#include <memory>
#include <vector>

#include "comm/algorithms/segments.h"

namespace lockstep {

Task swap(Channel& ranks, std::span<const float> out, int to, std::span<float> in, int from,
          Arriving arriving, int tag) {
  const bool adds = arriving == Arriving::is_added;
  const Segments leaving(out, swap_segment);
  const Segments expected(in, swap_segment);
  std::vector<Request> moving;
  for (size_t i = 0; i < expected.count() && !adds; ++i)
    moving.push_back(ranks.receive(std::as_writable_bytes(expected.at(i)), from, tag));
  for (size_t i = 0; i < leaving.count(); ++i)
    moving.push_back(ranks.send(std::as_bytes(leaving.at(i)), to, tag));
  const auto buffer = std::make_unique_for_overwrite<float[]>(adds ? expected.largest() : 0);
  for (size_t i = 0; i < expected.count() && adds; ++i) {
    const std::span<float> arrived(buffer.get(), expected.at(i).size());
    co_await ranks.receive(std::as_writable_bytes(arrived), from, tag);
    ranks.add(expected.at(i), arrived);
  }
  for (Request& request : moving) co_await std::move(request);
}

}  // namespace lockstep
