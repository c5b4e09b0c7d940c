#include <cstring>

#include "base/buffer.h"
#include "tensor/device/cpu/conv_algorithms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/conv_sparse.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/window_tiles-inl.h"

// Backward through relu and max-pooling: of each four gradients at most one is not zero, and relu and
// dropout remove more. So the gradients that live are listed, and for each of them a row of
// neighbouring channels is multiplied and added. Work grows with what lives, not with the image.

#ifndef LOCKSTEP_SPARSE_CONV
#define LOCKSTEP_SPARSE_CONV
namespace lockstep {

struct LiveGradient {
  int32_t offset;  // in floats, of what it multiplies
  float value;
};

// Segments of a row that are summed in registers: at most this many vectors.
constexpr int64_t segment_vectors = 12;

struct SparseWeightJob {
  const ConvSpec* spec;
  PaddedImages x;
  const int32_t* starts;  // of the window of each pooled position's first pixel
  const int32_t* winner_offsets;  // 4
  int64_t positions;
  const float* dy;
  const uint8_t* winners;
  float* dw;
};

struct SparseInputJob {
  const ConvSpec* spec;
  const int32_t* starts;  // in the padded dx
  int64_t positions, row_pitch, sample_pitch;
  int64_t segment;            // floats
  const float* packed;        // [ky][segment][filter][floats of the segment]
  const float* dy;
  const uint8_t* winners;
};

}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// to[0 .. Vectors) += sum of value * base[offset ..]; the last vector may be partial
template <int Vectors, bool Partial>
HWY_INLINE void add_rows(const float* HWY_RESTRICT base, const LiveGradient* HWY_RESTRICT list,
                         int64_t count, float* HWY_RESTRICT to, int64_t last) {
  const Floats d;
  Vec sum[Vectors];
  for (int v = 0; v < Vectors; ++v)
    sum[v] = Partial && v + 1 == Vectors ? load_part(to + v * lanes(), last)
                                         : hn::LoadU(d, to + v * lanes());
  for (int64_t i = 0; i < count; ++i) {
    const float* row = base + list[i].offset;
    const Vec value = hn::Set(d, list[i].value);
    for (int v = 0; v < Vectors; ++v)
      sum[v] = hn::MulAdd(value,
                          Partial && v + 1 == Vectors ? load_part(row + v * lanes(), last)
                                                      : hn::LoadU(d, row + v * lanes()),
                          sum[v]);
  }
  for (int v = 0; v < Vectors; ++v)
    if (Partial && v + 1 == Vectors)
      store_part(sum[v], to + v * lanes(), last);
    else
      hn::StoreU(sum[v], d, to + v * lanes());
}

template <bool Partial>
HWY_INLINE void add_rows_of(int64_t vectors, const float* base, const LiveGradient* list,
                            int64_t count, float* to, int64_t last) {
  switch (vectors) {
    case 1: return add_rows<1, Partial>(base, list, count, to, last);
    case 2: return add_rows<2, Partial>(base, list, count, to, last);
    case 3: return add_rows<3, Partial>(base, list, count, to, last);
    case 4: return add_rows<4, Partial>(base, list, count, to, last);
    case 5: return add_rows<5, Partial>(base, list, count, to, last);
    case 6: return add_rows<6, Partial>(base, list, count, to, last);
    case 7: return add_rows<7, Partial>(base, list, count, to, last);
    case 8: return add_rows<8, Partial>(base, list, count, to, last);
    case 9: return add_rows<9, Partial>(base, list, count, to, last);
    case 10: return add_rows<10, Partial>(base, list, count, to, last);
    case 11: return add_rows<11, Partial>(base, list, count, to, last);
    default: return add_rows<12, Partial>(base, list, count, to, last);
  }
}

// The same for `floats` of a row, at most segment_vectors whole vectors.
HWY_INLINE void add_live(const float* base, const LiveGradient* list, int64_t count, float* to,
                         int64_t floats) {
  const int64_t vectors = (floats + lanes() - 1) / lanes(), last = floats - (vectors - 1) * lanes();
  if (last == lanes())
    add_rows_of<false>(vectors, base, list, count, to, last);
  else
    add_rows_of<true>(vectors, base, list, count, to, last);
}

int64_t longest_segment() { return segment_vectors * lanes(); }

// dw of filters [f0, f1) from samples [begin, end): a list a filter.
void sparse_weight_gradient(const SparseWeightJob& job, int64_t begin, int64_t end, int64_t f0,
                            int64_t f1, LiveGradient* lists, int32_t* counts) {
  const ConvSpec& s = *job.spec;
  const int64_t filters = s.out.channels(), taps = s.taps();
  const int64_t length = s.window.width * s.in.channels();
  const int64_t room = (end - begin) * job.positions + 1;
  std::fill(counts, counts + (f1 - f0), 0);
  for (int64_t n = begin; n < end; ++n)
    for (int64_t p = 0; p < job.positions; ++p) {
      const int64_t at = (n * job.positions + p) * filters;
      const int32_t start =
          static_cast<int32_t>((n - begin) * job.x.sample_pitch) + job.starts[p];
      for (int64_t f = f0; f < f1; ++f) {  // written always, counted if it lives
        const float g = job.dy[at + f];
        LiveGradient* list = lists + (f - f0) * room;
        list[counts[f - f0]] = {start + job.winner_offsets[job.winners[at + f] & 3], g};
        counts[f - f0] += g != 0;
      }
    }
  const float* x = job.x.data + begin * job.x.sample_pitch;
  for (int64_t ky = 0; ky < s.window.height; ++ky)
    for (int64_t j = 0; j < length; j += longest_segment())
      for (int64_t f = f0; f < f1; ++f)
        add_live(x + ky * job.x.row_pitch + j, lists + (f - f0) * room, counts[f - f0],
                 job.dw + f * taps + ky * length + j, std::min(longest_segment(), length - j));
}

// Weights as [ky][segment][filter][floats of the segment], so that what one pass reads is together.
void pack_segments(const float* weights, const ConvSpec& s, int64_t segment, float* to) {
  const int64_t length = s.window.width * s.in.channels();
  for (int64_t ky = 0; ky < s.window.height; ++ky)
    for (int64_t j = 0; j < length; j += segment) {
      const int64_t floats = std::min(segment, length - j);
      for (int64_t f = 0; f < s.out.channels(); ++f, to += floats)
        std::memcpy(to, weights + f * s.taps() + ky * length + j,
                    static_cast<size_t>(floats) * sizeof(float));
    }
}

// dx (padded) of samples [begin, end): a list of filters for each pooled position and winner.
void sparse_input_gradient(const SparseInputJob& job, int64_t begin, int64_t end,
                           LiveGradient* lists, int32_t* counts, float* padded) {
  const ConvSpec& s = *job.spec;
  const int64_t filters = s.out.channels(), length = s.window.width * s.in.channels();
  const int64_t rows = (end - begin) * job.positions;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = (begin * job.positions + row) * filters;
    LiveGradient* list = lists + row * 4 * filters;
    LiveGradient* ends[4] = {list, list + filters, list + 2 * filters, list + 3 * filters};
    for (int64_t f = 0; f < filters; ++f) {
      const float g = job.dy[at + f];
      const int winner = job.winners[at + f] & 3;
      *ends[winner] = {static_cast<int32_t>(f), g};
      ends[winner] += g != 0;
    }
    for (int k = 0; k < 4; ++k)
      counts[row * 4 + k] = static_cast<int32_t>(ends[k] - (list + k * filters));
  }
  std::fill(padded, padded + (end - begin) * job.sample_pitch, 0.0f);
  const float* packed = job.packed;
  int32_t scaled = 1;  // offsets are filter × floats of the current segment
  for (int64_t ky = 0; ky < s.window.height; ++ky)
    for (int64_t j = 0; j < length; j += job.segment) {
      const int64_t floats = std::min(job.segment, length - j);
      if (floats != scaled) {
        for (int64_t i = 0; i < rows * 4; ++i)
          for (int32_t q = 0; q < counts[i]; ++q) {
            LiveGradient& live = lists[i * filters + q];
            live.offset = live.offset / scaled * static_cast<int32_t>(floats);
          }
        scaled = static_cast<int32_t>(floats);
      }
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t k = 0; k < 4; ++k) {
          const int64_t list = row * 4 + k;
          if (counts[list] == 0) continue;
          float* to = padded + row / job.positions * job.sample_pitch +
                      job.starts[row % job.positions] +
                      ((k >> 1) * s.window.stride_y + ky) * job.row_pitch +
                      (k & 1) * s.window.stride_x * s.in.channels() + j;
          add_live(packed, lists + list * filters, counts[list], to, floats);
        }
      packed += filters * floats;
    }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(longest_segment);
HWY_EXPORT(sparse_weight_gradient);
HWY_EXPORT(pack_segments);
HWY_EXPORT(sparse_input_gradient);

namespace {

std::vector<int32_t> pooled_starts(const ConvSpec& s, int64_t row_pitch) {
  std::vector<int32_t> starts;
  const std::vector<int64_t> all = window_starts(s, row_pitch);
  for (size_t i = 0; i < all.size(); i += 4) starts.push_back(static_cast<int32_t>(all[i]));
  return starts;
}

class SparseWeightGradient final : public ConvWeightGradient {
 public:
  SparseWeightGradient(const ConvSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        positions_(spec.result().height() * spec.result().width()),
        // Lists long enough to be worth their sums' way to memory and back, images small enough to
        // stay in the first-level cache.
        group_(std::clamp<int64_t>(32 / positions_, 2, 64)) {}

  const char* name() const override { return "sparse"; }
  PaddedExtent extent() const override { return window_extent(s_); }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(pool_.threads()) * member_bytes();
  }

  void run(int64_t rows, const PaddedImages& x, const float* dy, const uint8_t* winners, float* dw,
           bool accumulate, std::byte* scratch) override {
    const int64_t filters = s_.out.channels();
    if (x.row_pitch != pitch_) {
      pitch_ = x.row_pitch;
      starts_ = pooled_starts(s_, pitch_);
      for (int k = 0; k < 4; ++k)
        winner_offsets_[k] = static_cast<int32_t>(
            (k >> 1) * s_.window.stride_y * pitch_ + (k & 1) * s_.window.stride_x * s_.in.channels());
    }
    const SparseWeightJob job{.spec = &s_,
                              .x = x,
                              .starts = starts_.data(),
                              .winner_offsets = winner_offsets_,
                              .positions = positions_,
                              .dy = dy,
                              .winners = winners,
                              .dw = dw};
    pool_.split(filters, 8, [&](int64_t begin, int64_t end, int member) {
      std::byte* own = scratch + static_cast<size_t>(member) * member_bytes();
      auto* counts = reinterpret_cast<int32_t*>(own);
      auto* lists = reinterpret_cast<LiveGradient*>(own + count_bytes());
      if (!accumulate) std::fill(dw + begin * s_.taps(), dw + end * s_.taps(), 0.0f);
      for (int64_t n = 0; n < rows; n += group_)
        HWY_DYNAMIC_DISPATCH(sparse_weight_gradient)
      (job, n, std::min(rows, n + group_), begin, end, lists, counts);
    });
  }

 private:
  size_t count_bytes() const {
    return round_up(static_cast<size_t>(s_.out.channels()) * sizeof(int32_t), cache_line);
  }
  size_t member_bytes() const {
    const int64_t entries = s_.out.channels() * (group_ * positions_ + 1);
    return count_bytes() +
           round_up(static_cast<size_t>(entries) * sizeof(LiveGradient), cache_line);
  }

  ConvSpec s_;
  ThreadPool& pool_;
  int64_t positions_, group_;
  int64_t pitch_ = -1;
  std::vector<int32_t> starts_;
  int32_t winner_offsets_[4] = {};
};

class SparseInputGradient final : public ConvInputGradient {
 public:
  SparseInputGradient(const ConvSpec& spec, ThreadPool& pool)
      : s_(spec),
        pool_(pool),
        positions_(spec.result().height() * spec.result().width()),
        segment_(std::min(HWY_DYNAMIC_DISPATCH(longest_segment)(),
                          spec.window.width * spec.in.channels())),
        rows_(std::max(window_extent(spec).rows, spec.in.height() + spec.window.pad_y)),
        columns_(std::max(window_extent(spec).columns, spec.in.width() + spec.window.pad_x)),
        starts_(pooled_starts(spec, columns_ * spec.in.channels())),
        // As many samples at once as keep dx in the second-level cache: each pass over them reads
        // one slice of the weights.
        group_(std::clamp<int64_t>(32 * 1024 / sample_pitch(), 1, 32)) {}

  const char* name() const override { return "sparse"; }

  size_t scratch_bytes() const override {
    return packed_bytes() + static_cast<size_t>(pool_.threads()) * member_bytes();
  }

  void run(int64_t rows, const float* dy, const uint8_t* winners, const float* weights, float* dx,
           std::byte* scratch) override {
    float* packed = reinterpret_cast<float*>(scratch);
    HWY_DYNAMIC_DISPATCH(pack_segments)(weights, s_, segment_, packed);
    const SparseInputJob job{.spec = &s_,
                             .starts = starts_.data(),
                             .positions = positions_,
                             .row_pitch = columns_ * s_.in.channels(),
                             .sample_pitch = sample_pitch(),
                             .segment = segment_,
                             .packed = packed,
                             .dy = dy,
                             .winners = winners};
    pool_.split(rows, 1, [&](int64_t begin, int64_t end, int member) {
      std::byte* own = scratch + packed_bytes() + static_cast<size_t>(member) * member_bytes();
      auto* padded = reinterpret_cast<float*>(own);
      auto* counts = reinterpret_cast<int32_t*>(own + padded_bytes());
      auto* lists = reinterpret_cast<LiveGradient*>(own + padded_bytes() + count_bytes());
      for (int64_t n = begin; n < end; n += group_) {
        const int64_t last = std::min(end, n + group_);
        // Without a border the sums can be made in place.
        float* into = is_bare() ? dx + n * s_.in.elements() : padded;
        HWY_DYNAMIC_DISPATCH(sparse_input_gradient)(job, n, last, lists, counts, into);
        if (!is_bare()) copy_inside(padded, n, last, dx);
      }
    });
  }

 private:
  bool is_bare() const {
    return s_.window.pad_y == 0 && s_.window.pad_x == 0 && rows_ == s_.in.height() &&
           columns_ == s_.in.width();
  }
  int64_t sample_pitch() const { return rows_ * columns_ * s_.in.channels(); }
  size_t packed_bytes() const {
    return round_up(static_cast<size_t>(s_.out.channels() * s_.taps()) * sizeof(float), cache_line);
  }
  size_t padded_bytes() const {
    return round_up(static_cast<size_t>(group_ * sample_pitch()) * sizeof(float), cache_line);
  }
  size_t count_bytes() const {
    return round_up(static_cast<size_t>(group_ * positions_ * 4) * sizeof(int32_t), cache_line);
  }
  size_t member_bytes() const {
    const int64_t entries = group_ * positions_ * 4 * s_.out.channels() + 1;
    return padded_bytes() + count_bytes() +
           round_up(static_cast<size_t>(entries) * sizeof(LiveGradient), cache_line);
  }

  void copy_inside(const float* padded, int64_t begin, int64_t end, float* dx) const {
    const int64_t channels = s_.in.channels(), width = s_.in.width() * channels;
    for (int64_t n = begin; n < end; ++n)
      for (int64_t y = 0; y < s_.in.height(); ++y) {
        const float* from = padded + (n - begin) * sample_pitch() +
                            ((y + s_.window.pad_y) * columns_ + s_.window.pad_x) * channels;
        std::copy(from, from + width, dx + n * s_.in.elements() + y * width);
      }
  }

  ConvSpec s_;
  ThreadPool& pool_;
  int64_t positions_, segment_, rows_, columns_;
  std::vector<int32_t> starts_;
  int64_t group_;
};

// About a third of the pooled gradients live; each costs a row of taps.
double cost(const ConvSpec& s) {
  if (!s.max_pool) return -1;
  const double pooled = static_cast<double>(s.result().elements());
  const double wasted = s.in.channels() * s.window.width < 16 ? 3 : 1;  // short rows fill no vector
  return pooled * (2.5 + wasted * 0.6 * 2 * static_cast<double>(s.taps()) / 60);
}

}  // namespace

ConvCandidate<ConvWeightGradient> sparse_weight_gradient_candidate() {
  return {"sparse", cost, [](const ConvSpec& s, ThreadPool& pool) {
            return std::unique_ptr<ConvWeightGradient>(
                std::make_unique<SparseWeightGradient>(s, pool));
          }};
}

ConvCandidate<ConvInputGradient> sparse_input_gradient_candidate() {
  return {"sparse", cost, [](const ConvSpec& s, ThreadPool& pool) {
            return std::unique_ptr<ConvInputGradient>(
                std::make_unique<SparseInputGradient>(s, pool));
          }};
}

}  // namespace lockstep
#endif
