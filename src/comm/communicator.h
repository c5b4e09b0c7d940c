#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/part.h"
#include "comm/compression.h"
#include "comm/request.h"

namespace lockstep {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// Tags of streams are not below this one, except that of a first segment, which may be sent like
// any message. Their receivers name the sender.
constexpr int first_stream_tag = 512;

// Point-to-point messages: the interface that the algorithms in algorithms/ need.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Node that a rank runs on; ranks of one node copy messages through its memory.
  virtual int node_of(int) const { return 0; }
  // Number of ranks on every node; 0 if it differs, or if ranks of a node are not neighbours.
  virtual int ranks_per_node() const;
  // Messages between two ranks with the same tag arrive in the order they were sent.
  virtual Request send(ConstBytes data, int to, int tag) = 0;
  virtual Request receive(Bytes data, int from, int tag) = 0;
  // Sends a segment of a stream while up to in_flight() - 1 earlier ones are still arriving. Its
  // link carries `streams` of them.
  virtual Request send_segment(ConstBytes data, int to, int tag, int /*streams*/) {
    return send(data, to, tag);
  }
  // Receives a segment of a stream of `whole` bytes.
  virtual Request receive_segment(Bytes data, int from, int tag, size_t /*whole*/) {
    return receive(data, from, tag);
  }
  virtual size_t in_flight(int /*to*/) const { return 2; }
  // Element-wise sum of a reduction: into += from.
  virtual void add(std::span<float> into, std::span<const float> from);
  // Whether messages of this size carry data; in a simulation they may only take time.
  virtual bool carries(size_t) const { return true; }
  // Simulated ranks spend the time of one pass over so much memory.
  virtual void spend_pass(size_t) {}
  // Rounds values as sending them to another node does.
  virtual void round_as_sent(std::span<float>) {}
};

// A group of ranks. All of them call its collective operations in the same order. A group of one
// rank works the same way, so callers need no special case for it.
class Communicator : public Channel {
 public:
  // Sum over all ranks, bit-identical on every rank. `from` and `to` are the same buffer or do not
  // overlap. Power-of-two groups add neighbouring ranks first: (0+1)+(2+3).
  virtual Request all_reduce(std::span<const float> from, std::span<float> to) = 0;
  // Chooses algorithms for this number of ranks per node: a resumed run that was started on other
  // nodes keeps its algorithms, which decide the order of additions.
  virtual void assume_ranks_per_node(int) {}
  // Name of the algorithm for an all-reduce of this size.
  virtual std::string all_reduce_algorithm(size_t /*bytes*/) const { return "shared memory"; }
  // In-place all_reduce() and reduce() of values that are rounded to 16 bits, except the last
  // `exact` ones. Here: of backends without messages.
  virtual Request all_reduce_rounded(std::span<float> data, Compression compression, size_t exact);
  virtual Request reduce_rounded(std::span<float> data, int root, Compression compression,
                                 size_t exact);
  virtual Request reduce(std::span<const float> from, std::span<float> to, int root) = 0;
  // `to` receives this rank's part of the sum: rank r's has counts[r] floats, in rank order. It may
  // be that part of `from`. Power-of-two groups add neighbouring ranks first.
  virtual Request reduce_scatter(std::span<const float> from, std::span<float> to,
                                 std::span<const int64_t> counts) = 0;
  virtual Request broadcast(Bytes data, int root) = 0;
  // Rank r's block has counts[r] bytes. `all` holds the blocks in rank order; only the root must
  // provide it (all_gather: every rank).
  virtual Request gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts, int root) = 0;
  virtual Request scatter(ConstBytes all, Bytes mine, std::span<const int64_t> counts,
                          int root) = 0;
  virtual Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) = 0;
  virtual Request barrier() = 0;
  // Receives the next message with this tag from any rank; `from` is set when the request
  // completes. Only one message above 1 GB with this tag may be in flight.
  virtual Request receive_any(Bytes data, int tag, int& from) = 0;

  // Each rank reads a part of one file, starting at byte `from`. A collective call with MPI
  // (MPI-IO).
  virtual void read_file(const std::string& path, int64_t from, Bytes into) = 0;

  // Ranks with the same color form a group, ordered by key.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;
  // Ends all ranks of the job that can be reached, because this one cannot continue.
  virtual void abort(const std::string& reason, int exit_code) = 0;
  virtual std::string backend() const = 0;  // "threads", "mpi (Open MPI 4.1.4)"
  virtual std::string host() const = 0;
};

// read_file() of backends without collective file access.
void read_file_part(const std::string& path, int64_t from, Bytes into);

// Sizes of parts (part_of) of `total` values, one per rank of a group.
std::vector<int64_t> equal_counts(int64_t total, int ranks);

// Gathers one value per rank on every rank.
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

// Gathers one string per rank on every rank.
std::vector<std::string> gather_texts(Communicator& ranks, const std::string& mine);

}  // namespace lockstep
