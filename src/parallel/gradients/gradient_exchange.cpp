#include "parallel/gradients/gradient_exchange.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep {
namespace {

using Packets = std::vector<std::byte>;

// Time of a selection in units of an addition of the same length: 8 to 11 were measured (1 to 32
// MB, Intel with AVX-512).
constexpr size_t passes_of_selection = 10;

template <typename T, typename Byte>
auto as_values(std::span<Byte> bytes) {
  using Value = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  return std::span(reinterpret_cast<Value*>(bytes.data()), bytes.size() / sizeof(T));
}

LargestValues::Momentum momentum_of(const OptimizerConfig& optimizer) {
  const UpdateKind kind = update_spec(optimizer).kind;
  if (kind != UpdateKind::momentum && kind != UpdateKind::nesterov) return {};
  return {static_cast<float>(optimizer.momentum), kind == UpdateKind::nesterov};
}

}  // namespace

GradientExchange::GradientExchange(Communicator& ranks, const Parameters& parameters,
                                   const ParallelConfig& config, const OptimizerConfig& optimizer)
    : GradientExchange(ranks, parameters.gradients_on_host().floats(), Parameters::tail_floats,
                       config, momentum_of(optimizer)) {
  if (compression_ == Compression::top_k && parameters.touched())
    throw UserError(
        "parallel.compress = \"top-k\" is not possible with sparse inputs, whose gradients are "
        "already sparse; use \"bf16\" or \"fp16\"");
}

GradientExchange::GradientExchange(Communicator& ranks, std::span<const float> arena,
                                   const ParallelConfig& config)
    : GradientExchange(ranks, arena, 0, config, {}) {}

GradientExchange::GradientExchange(Communicator& ranks, std::span<const float> arena,
                                   size_t figures, const ParallelConfig& config,
                                   const LargestValues::Momentum& momentum)
    : ranks_(ranks),
      arena_(arena),
      figures_(figures),
      computes_(ranks.carries(arena.size_bytes())),
      compression_(config.compress) {
  if (compression_ == Compression::top_k)
    largest_.emplace(config.compress_share, computes_ ? arena.size() - figures : 0, momentum);
}

size_t GradientExchange::figures_in(std::span<const float> gradients) const {
  const bool at_the_end = gradients.data() + gradients.size() == arena_.data() + arena_.size();
  return at_the_end ? figures_ : 0;
}

Request GradientExchange::all_reduce(std::span<float> gradients) {
  if (ranks_.size() == 1) return {};
  if (compression_ == Compression::none) return ranks_.all_reduce(gradients, gradients);
  if (compression_ == Compression::top_k) return all_reduce_largest(gradients);
  return ranks_.all_reduce_rounded(gradients, compression_, figures_in(gradients));
}

// Every rank gets the packets of all ranks and adds them in the order of ranks.
Request GradientExchange::all_reduce_largest(std::span<float> gradients) {
  const auto size = static_cast<size_t>(ranks_.size());
  const size_t figures = figures_in(gradients), bytes = packet_bytes(gradients.size(), figures);
  const auto mine = std::make_shared<Packets>(bytes), all = std::make_shared<Packets>(size * bytes);
  pack(gradients, figures, *mine);
  return ranks_.all_gather(*mine, *all, std::vector(size, static_cast<int64_t>(bytes)))
      .then([this, mine, all, gradients, figures] { sum_packets(*all, gradients, figures); });
}

double GradientExchange::reduce_and_broadcast(std::span<float> gradients) {
  if (compression_ == Compression::top_k) return reduce_and_broadcast_largest(gradients);
  if (compression_ == Compression::none) {
    const double waiting = ranks_.reduce(gradients, gradients, 0).wait().waiting;
    ranks_.broadcast(std::as_writable_bytes(gradients), 0).wait();
    return waiting;
  }
  const size_t figures = figures_in(gradients);
  const double waiting = ranks_.reduce_rounded(gradients, 0, compression_, figures).wait().waiting;
  Packets sum(packet_bytes(gradients.size(), figures));
  if (ranks_.rank() == 0) pack(gradients, figures, sum);
  ranks_.broadcast(sum, 0).wait();
  unpack(sum, gradients, figures);
  return waiting;
}

// Rank 0 sends the packets of all ranks to all, who add them.
double GradientExchange::reduce_and_broadcast_largest(std::span<float> gradients) {
  const auto size = static_cast<size_t>(ranks_.size());
  const size_t figures = figures_in(gradients);
  Packets mine(packet_bytes(gradients.size(), figures)), all(size * mine.size());
  pack(gradients, figures, mine);
  const std::vector<int64_t> counts(size, static_cast<int64_t>(mine.size()));
  const double waiting = ranks_.gather(mine, all, counts, 0).wait().waiting;
  ranks_.broadcast(all, 0).wait();
  sum_packets(all, gradients, figures);
  return waiting;
}

// Packets of the largest values and the figures, one after the other.
void GradientExchange::sum_packets(ConstBytes packets, std::span<float> gradients, size_t figures) {
  const size_t each = packet_bytes(gradients.size(), figures);
  const std::span<float> tail = gradients.last(figures);
  if (computes_) {
    std::ranges::fill(gradients, 0.0f);
    for (size_t at = 0; at < packets.size(); at += each) {
      const ConstBytes packet = packets.subspan(at, each);
      const auto sent = as_values<float>(packet.last(figures * sizeof(float)));
      add_entries(as_values<Entry>(packet.first(each - sent.size_bytes())), gradients);
      for (size_t i = 0; i < figures; ++i) tail[i] += sent[i];
    }
  }
  ranks_.spend_pass(gradients.size_bytes() + packets.size());
}

size_t GradientExchange::packed_values(size_t values) const {
  if (values == 0) return 0;
  if (compression_ == Compression::top_k) return largest_->count(values) * sizeof(Entry);
  return compression_ == Compression::none ? values * sizeof(float)
                                           : round_up(values * sizeof(uint16_t), sizeof(float));
}

size_t GradientExchange::packet_bytes(size_t gradients, size_t figures) const {
  return packed_values(gradients - figures) + figures * sizeof(float);
}

ConstBytes GradientExchange::pack(std::span<float> gradients, size_t figures, Bytes packet) {
  if (compression_ == Compression::none) return std::as_bytes(gradients);
  const bool largest = compression_ == Compression::top_k;
  const std::span<float> values = gradients.first(gradients.size() - figures);
  if (computes_) {
    const Bytes packed = packet.first(packed_values(values.size()));
    if (largest && !values.empty())
      largest_->select(values, static_cast<size_t>(values.data() - arena_.data()),
                       as_values<Entry>(packed));
    if (!largest) encode(values, as_values<uint16_t>(packed).first(values.size()), compression_);
    std::ranges::copy(std::as_bytes(gradients.last(figures)),
                      packet.last(figures * sizeof(float)).begin());
  }
  ranks_.spend_pass((largest ? passes_of_selection : 1) * values.size_bytes());
  return packet;
}

void GradientExchange::unpack(ConstBytes packet, std::span<float> gradients, size_t figures) {
  if (compression_ == Compression::top_k) {
    sum_packets(packet, gradients, figures);
    return;
  }
  ENSURE(compression_ != Compression::none);
  if (computes_) {
    const std::span<float> values = gradients.first(gradients.size() - figures);
    decode(as_values<uint16_t>(packet).first(values.size()), values, compression_);
    std::ranges::copy(packet.last(figures * sizeof(float)),
                      std::as_writable_bytes(gradients.last(figures)).begin());
  }
  ranks_.spend_pass(gradients.size_bytes());
}

std::vector<std::span<float>> GradientExchange::arrays() {
  return largest_ ? largest_->arrays() : std::vector<std::span<float>>{};
}

OptimizerConfig update_after_exchange(const ParallelConfig& config, OptimizerConfig optimizer,
                                      int ranks) {
  if (config.compress == Compression::top_k && ranks > 1 && momentum_of(optimizer).factor > 0)
    optimizer.name = "sgd";
  return optimizer;
}

}  // namespace lockstep
