#include "comm/communicator.h"

#include <numeric>

namespace lockstep {

std::vector<std::string> gather_texts(Communicator& ranks, const std::string& mine) {
  const std::vector<int64_t> sizes = gather_all(ranks, static_cast<int64_t>(mine.size()));
  std::string all(static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0})),
                  ' ');
  ranks.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), sizes)
      .wait();
  std::vector<std::string> texts;
  size_t at = 0;
  for (const int64_t size : sizes) {
    texts.push_back(all.substr(at, static_cast<size_t>(size)));
    at += static_cast<size_t>(size);
  }
  return texts;
}

}  // namespace lockstep
