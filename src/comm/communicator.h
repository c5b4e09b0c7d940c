#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/part.h"
#include "comm/request.h"

namespace lockstep {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// Moves messages between two ranks: all that the algorithms in algorithms/ need.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Messages between two ranks with one tag arrive in the order they were sent.
  virtual Request send(ConstBytes data, int to, int tag) = 0;
  virtual Request receive(Bytes data, int from, int tag) = 0;
  // The arithmetic of a reduction.
  virtual void add(std::span<float> into, std::span<const float> from);
};

// A group of ranks. All of them call its collective operations in the same order. A group of one
// works like any other: no caller asks "am I parallel?".
class Communicator : public Channel {
 public:
  // Sums over ranks, the same bits on every rank. `from` and `to` are the same buffer, or apart.
  // Sizes of a power of two add neighbours first: (0+1)+(2+3).
  virtual Request all_reduce(std::span<const float> from, std::span<float> to) = 0;
  virtual Request reduce(std::span<const float> from, std::span<float> to, int root) = 0;
  // `to` receives this rank's part (part_of) of the sum.
  virtual Request reduce_scatter(std::span<const float> from, std::span<float> to) = 0;
  virtual Request broadcast(Bytes data, int root) = 0;
  // Rank r's block is counts[r] bytes; they lie one after the other in `all`, which only the root
  // (all_gather: every rank) needs to give.
  virtual Request gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts, int root) = 0;
  virtual Request scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts,
                          int root) = 0;
  virtual Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) = 0;
  virtual Request barrier() = 0;
  // A message with this tag from whoever sends first; `from` is set when the request completes. Of
  // messages above 1 GB only one with this tag may be under way.
  virtual Request receive_any(Bytes data, int tag, int& from) = 0;

  // Each rank reads a part of one file, from byte `from` on; with MPI all at once (MPI-IO).
  virtual void read_file(const std::string& path, int64_t from, Bytes into) = 0;

  // Ranks of one color form a group, ordered by key.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;
  // Ends every rank of the whole job that can be reached, because this one cannot go on.
  virtual void abort(const std::string& reason, int exit_code) = 0;
  virtual std::string backend() const = 0;  // "threads", "mpi (Open MPI 4.1.4)"
  virtual std::string host() const = 0;
};

// For backends whose ranks share a machine.
void read_file_part(const std::string& path, int64_t from, Bytes into);

// One value of each rank, on every rank.
template <typename T>
std::vector<T> gather_all(Communicator& ranks, const T& mine) {
  std::vector<T> all(static_cast<size_t>(ranks.size()));
  const std::vector<int64_t> counts(all.size(), sizeof(T));
  ranks
      .all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                  counts)
      .wait();
  return all;
}

// A text of each rank, on every rank.
std::vector<std::string> gather_texts(Communicator& ranks, const std::string& mine);

}  // namespace lockstep
