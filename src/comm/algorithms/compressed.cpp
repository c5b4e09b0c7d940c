#include "comm/algorithms/compressed.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>

#include "comm/algorithms/all_reduce.h"

namespace lockstep {
namespace {

template <typename Byte, typename Float>
std::span<Float> as_floats(std::span<Byte> data) {
  return {reinterpret_cast<Float*>(data.data()), data.size() / sizeof(float)};
}

// Messages of floats to other nodes carry 16 bits per value.
class CompressedChannel final : public Channel {
 public:
  CompressedChannel(Channel& ranks, Compression compression, bool carries)
      : ranks_(ranks), compression_(compression), carries_(carries) {}
  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  int node_of(int r) const override { return ranks_.node_of(r); }
  void add(std::span<float> into, std::span<const float> from) override { ranks_.add(into, from); }

  Request send(ConstBytes data, int to, int tag) override {
    if (node_of(to) == node_of(rank())) return ranks_.send(data, to, tag);
    const auto bits = buffer_for(data);
    ranks_.encode(as_floats<const std::byte, const float>(data), bits, compression_);
    return ranks_.send(carries_ ? std::as_bytes(bits) : data.first(data.size() / 2), to, tag);
  }

  Request receive(Bytes data, int from, int tag) override {
    if (node_of(from) == node_of(rank())) return ranks_.receive(data, from, tag);
    const auto bits = buffer_for(data);
    Request arriving = ranks_.receive(
        carries_ ? std::as_writable_bytes(bits) : data.first(data.size() / 2), from, tag);
    return {std::make_unique<Decoding>(std::move(arriving), ranks_, bits,
                                       as_floats<std::byte, float>(data), compression_),
            {"receive", data.size() / 2},
            0};
  }

  void round_as_sent(std::span<float> values) override {
    std::array<uint16_t, 4096> bits;
    while (!values.empty()) {
      const auto some = values.first(std::min(values.size(), bits.size()));
      const auto room = std::span(bits).first(carries_ ? some.size() : 0);
      ranks_.encode(some, room, compression_);
      ranks_.decode(room, some, compression_);
      values = values.subspan(some.size());
    }
  }

 private:
  class Decoding final : public Operation {
   public:
    Decoding(Request arriving, Channel& ranks, std::span<const uint16_t> bits,
             std::span<float> values, Compression compression)
        : arriving_(std::move(arriving)),
          ranks_(ranks),
          bits_(bits),
          values_(values),
          compression_(compression) {}
    bool advance() override {
      if (!arriving_.test()) return false;
      ranks_.decode(bits_, values_, compression_);
      return true;
    }
    bool block() override { return arriving_.block(); }
    bool met() const override { return false; }
    std::string missing() override { return ""; }  // part of a task, which knows

   private:
    Request arriving_;
    Channel& ranks_;
    std::span<const uint16_t> bits_;
    std::span<float> values_;
    Compression compression_;
  };

  // Lives as long as the operation. Empty if messages carry no data.
  std::span<uint16_t> buffer_for(ConstBytes data) {
    if (!carries_) return {};
    const size_t count = data.size() / sizeof(float);
    buffers_.push_back(std::make_unique_for_overwrite<uint16_t[]>(count));
    return {buffers_.back().get(), count};
  }

  Channel& ranks_;
  Compression compression_;
  bool carries_;
  std::deque<std::unique_ptr<uint16_t[]>> buffers_;
};

}  // namespace

Task all_reduce_compressed_by_messages(Channel& ranks, std::span<float> data,
                                       Compression compression, size_t exact, bool carries,
                                       int tag) {
  CompressedChannel compressed(ranks, compression, carries);
  const std::span<float> values = data.first(data.size() - exact);
  if (!values.empty()) {
    co_await all_reduce_by_messages(compressed, values, tag);
    compressed.round_as_sent(values);
  }
  if (exact > 0) co_await all_reduce_by_messages(ranks, data.last(exact), tag);
}

}  // namespace lockstep
