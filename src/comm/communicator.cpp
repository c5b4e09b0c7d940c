#include "comm/communicator.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <numeric>

namespace lockstep {

void Channel::add(std::span<float> into, std::span<const float> from) {
  float* __restrict to = into.data();
  const float* __restrict values = from.data();
  const size_t count = into.size();
  for (size_t i = 0; i < count; ++i) to[i] += values[i];
}

int Channel::ranks_per_node() const {
  int count = 1;
  while (count < size() && node_of(count) == node_of(0)) ++count;
  if (size() % count != 0) return 0;
  for (int r = 0; r < size(); ++r)
    if (node_of(r) != node_of(r - r % count) || (r >= count && node_of(r) == node_of(r - count)))
      return 0;
  return count;
}

Request Communicator::all_reduce_rounded(std::span<float> data, Compression compression,
                                         size_t exact) {
  round(data.first(data.size() - exact), compression);
  return all_reduce(data, data);
}

Request Communicator::reduce_rounded(std::span<float> data, int root, Compression compression,
                                     size_t exact) {
  round(data.first(data.size() - exact), compression);
  return reduce(data, data, root);
}

void read_file_part(const std::string& path, int64_t from, Bytes into) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw UserError("cannot read {}: {}", path, std::strerror(errno));
  int64_t done = 0;
  while (done < static_cast<int64_t>(into.size())) {
    const ssize_t count =
        ::pread(file, into.data() + done, into.size() - static_cast<size_t>(done), from + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += count;
  }
  ::close(file);
  if (done < static_cast<int64_t>(into.size()))
    throw UserError("{} is truncated: {} bytes were expected from byte {} on, {} are there", path,
                    into.size(), from, done);
}

std::vector<int64_t> equal_counts(int64_t total, int ranks) {
  std::vector<int64_t> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(part_of(total, ranks, r).size());
  return counts;
}

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
