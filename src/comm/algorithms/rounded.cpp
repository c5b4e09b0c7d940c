#include "comm/algorithms/rounded.h"

#include <memory>
#include <vector>

#include "comm/algorithms/all_reduce.h"
#include "comm/algorithms/reduce.h"

namespace lockstep {
namespace {

template <typename Byte, typename Float>
std::span<Float> as_floats(std::span<Byte> data) {
  return {reinterpret_cast<Float*>(data.data()), data.size() / sizeof(float)};
}

// Messages of floats to other nodes carry 16 bits per value.
class RoundedChannel final : public Channel {
 public:
  RoundedChannel(Channel& ranks, Compression compression, bool carries)
      : ranks_(ranks), compression_(compression), carries_(carries) {}
  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  int node_of(int r) const override { return ranks_.node_of(r); }
  int ranks_per_node() const override { return ranks_.ranks_per_node(); }
  size_t in_flight(int to) const override { return ranks_.in_flight(to); }
  void add(std::span<float> into, std::span<const float> from) override { ranks_.add(into, from); }

  Request send(ConstBytes data, int to, int tag) override {
    if (node_of(to) == node_of(rank())) return ranks_.send(data, to, tag);
    const Bits bits = bits_for(data);
    if (carries_) encode(as_floats<const std::byte, const float>(data), *bits, compression_);
    ranks_.spend_pass(data.size());
    return ranks_
        .send(carries_ ? std::as_bytes(std::span(*bits)) : data.first(data.size() / 2), to, tag)
        .then([bits] {});  // kept until they have been sent
  }

  Request receive(Bytes data, int from, int tag) override {
    if (node_of(from) == node_of(rank())) return ranks_.receive(data, from, tag);
    const Bits bits = bits_for(data);
    return ranks_
        .receive(carries_ ? std::as_writable_bytes(std::span(*bits)) : data.first(data.size() / 2),
                 from, tag)
        .then([this, bits, data] {
          if (carries_) decode(*bits, as_floats<std::byte, float>(data), compression_);
          ranks_.spend_pass(data.size());
        });
  }

  void round_as_sent(std::span<float> values) override {
    if (carries_) round(values, compression_);
    ranks_.spend_pass(2 * values.size_bytes());
  }

 private:
  using Bits = std::shared_ptr<std::vector<uint16_t>>;
  // Empty if messages carry no data.
  Bits bits_for(ConstBytes data) const {
    return std::make_shared<std::vector<uint16_t>>(carries_ ? data.size() / sizeof(float) : 0);
  }

  Channel& ranks_;
  Compression compression_;
  bool carries_;
};

}  // namespace

Task all_reduce_rounded_by_messages(Channel& ranks, std::span<float> data, Compression compression,
                                    size_t exact, int tag) {
  RoundedChannel rounded(ranks, compression, ranks.carries(data.size_bytes()));
  const std::span<float> values = data.first(data.size() - exact);
  if (!values.empty()) {
    co_await all_reduce_by_messages(rounded, values, tag);
    rounded.round_as_sent(values);
  }
  if (exact > 0) co_await all_reduce_by_messages(ranks, data.last(exact), tag);
}

Task reduce_rounded_by_messages(Channel& ranks, std::span<float> data, int root,
                                Compression compression, size_t exact, int tag) {
  RoundedChannel rounded(ranks, compression, ranks.carries(data.size_bytes()));
  const std::span<float> values = data.first(data.size() - exact);
  if (!values.empty()) co_await reduce_by_messages(rounded, values, root, tag);
  if (exact > 0) co_await reduce_by_messages(ranks, data.last(exact), root, tag);
}

}  // namespace lockstep
