#include <cstring>

#include "os/buffer.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/conv/conv_sparse.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/conv/window_tiles-inl.h"

// Backward through relu and max-pooling: at most one of four gradients is nonzero, and relu and
// dropout leave fewer. The nonzero gradients ("live") are listed, and for each of them a row of
// adjacent channels is multiplied and added. Work is proportional to them, not to the image.

#ifndef LOCKSTEP_SPARSE_CONV
#define LOCKSTEP_SPARSE_CONV
namespace lockstep {

struct LiveGradient {
  int32_t offset;  // in floats, of the row it multiplies
  float value;
};

// Longest segment of a row that is summed in registers, in vectors.
constexpr int64_t segment_vectors = 12;

struct SparseWeightJob {
  const ConvSpec* spec;
  PaddedImages x;
  const int32_t* starts;          // of the window of each pooled position's first pixel
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
  int64_t segment;      // floats
  int64_t block;        // filters
  const float* packed;  // [block][ky][segment][filter of the block][floats of the segment]
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

// Calls body.run<Vectors, Partial>(last) for rows of `floats`, at most segment_vectors vectors. The
// last vector holds `last` floats.
template <typename Body>
HWY_INLINE void with_vectors(int64_t floats, const Body& body) {
  const int64_t vectors = (floats + lanes() - 1) / lanes(), last = floats - (vectors - 1) * lanes();
  const bool partial = last < lanes();
#define LOCKSTEP_VECTORS(count) \
  case count:                   \
    return partial ? body.template run<count, true>(last) : body.template run<count, false>(last)
  switch (vectors) {
    LOCKSTEP_VECTORS(1);
    LOCKSTEP_VECTORS(2);
    LOCKSTEP_VECTORS(3);
    LOCKSTEP_VECTORS(4);
    LOCKSTEP_VECTORS(5);
    LOCKSTEP_VECTORS(6);
    LOCKSTEP_VECTORS(7);
    LOCKSTEP_VECTORS(8);
    LOCKSTEP_VECTORS(9);
    LOCKSTEP_VECTORS(10);
    LOCKSTEP_VECTORS(11);
    LOCKSTEP_VECTORS(12);
  }
#undef LOCKSTEP_VECTORS
}

int64_t longest_segment() { return segment_vectors * lanes(); }

// One segment of dw for all filters of a range.
struct WeightSegment {
  const float* x;
  const LiveGradient* lists;
  const int32_t* counts;
  int64_t room, filters, taps;
  float* dw;

  template <int Vectors, bool Partial>
  HWY_INLINE void run(int64_t last) const {
    for (int64_t f = 0; f < filters; ++f)
      add_rows<Vectors, Partial>(x, lists + f * room, counts[f], dw + f * taps, last);
  }
};

// dw of filters [f0, f1) from pooled positions [p0, p1), counted across all samples: one list per
// filter.
void sparse_weight_gradient(const SparseWeightJob& job, int64_t p0, int64_t p1, int64_t f0,
                            int64_t f1, LiveGradient* lists, int32_t* counts) {
  const ConvSpec& s = *job.spec;
  const int64_t filters = s.out.channels(), taps = s.taps();
  const int64_t length = s.window.width * s.in.channels();
  const int64_t room = p1 - p0 + 1, first = p0 / job.positions;
  std::fill(counts, counts + (f1 - f0), 0);
  for (int64_t p = p0, n = first, at = p0 % job.positions; p < p1; ++p) {
    const int32_t start = static_cast<int32_t>((n - first) * job.x.sample_pitch) + job.starts[at];
    const float* dy = job.dy + p * filters;
    const uint8_t* winners = job.winners + p * filters;
    LiveGradient* list = lists;
    for (int64_t f = f0; f < f1; ++f, list += room) {  // always written, counted if live
      int32_t& count = counts[f - f0];
      list[count] = {start + job.winner_offsets[winners[f] & 3], dy[f]};
      count += dy[f] != 0;
    }
    if (++at == job.positions) at = 0, ++n;
  }
  const float* x = job.x.data + first * job.x.sample_pitch;
  for (int64_t ky = 0; ky < s.window.height; ++ky)
    for (int64_t j = 0; j < length; j += longest_segment())
      with_vectors(std::min(longest_segment(), length - j),
                   WeightSegment{.x = x + ky * job.x.row_pitch + j,
                                 .lists = lists,
                                 .counts = counts,
                                 .room = room,
                                 .filters = f1 - f0,
                                 .taps = taps,
                                 .dw = job.dw + f0 * taps + ky * length + j});
}

// The weights that one pass reads become contiguous and fit the first-level cache.
void pack_segments(const float* weights, const ConvSpec& s, int64_t segment, int64_t block,
                   float* to) {
  const int64_t length = s.window.width * s.in.channels(), filters = s.out.channels();
  for (int64_t first = 0; first < filters; first += block)
    for (int64_t ky = 0; ky < s.window.height; ++ky)
      for (int64_t j = 0; j < length; j += segment) {
        const int64_t floats = std::min(segment, length - j);
        for (int64_t f = first; f < std::min(filters, first + block); ++f, to += floats)
          std::memcpy(to, weights + f * s.taps() + ky * length + j,
                      static_cast<size_t>(floats) * sizeof(float));
      }
}

// The live gradients of one block of filters, one list per pooled position and winner; offsets are
// filters within the block.
void list_live(const SparseInputJob& job, int64_t first_row, int64_t rows, int64_t f0, int64_t f1,
               LiveGradient* lists, int32_t* counts) {
  const int64_t filters = job.spec->out.channels();
  for (int64_t row = 0; row < rows; ++row) {
    const float* dy = job.dy + (first_row + row) * filters;
    const uint8_t* winners = job.winners + (first_row + row) * filters;
    LiveGradient* list = lists + row * 4 * job.block;
    LiveGradient* ends[4] = {list, list + job.block, list + 2 * job.block, list + 3 * job.block};
    for (int64_t f = f0; f < f1; ++f) {
      LiveGradient*& end = ends[winners[f] & 3];  // always written, counted if live
      *end = {static_cast<int32_t>(f - f0), dy[f]};
      end += dy[f] != 0;
    }
    for (int k = 0; k < 4; ++k)
      counts[row * 4 + k] = static_cast<int32_t>(ends[k] - (list + k * job.block));
  }
}

// One segment of row `ky` of every window of dx.
struct InputSegment {
  const SparseInputJob& job;
  const float* packed;
  const LiveGradient* lists;
  const int32_t* counts;
  int64_t samples;
  float* dx;  // at row ky and the segment's first float of the first window

  template <int Vectors, bool Partial>
  HWY_INLINE void run(int64_t last) const {
    const Window& w = job.spec->window;
    const int64_t down = w.stride_y * job.row_pitch;
    const int64_t right = w.stride_x * job.spec->in.channels();
    const LiveGradient* list = lists;
    const int32_t* count = counts;
    for (int64_t n = 0; n < samples; ++n)
      for (int64_t p = 0; p < job.positions; ++p) {
        float* to = dx + n * job.sample_pitch + job.starts[p];
        for (const int64_t winner : {int64_t{0}, right, down, down + right}) {
          add_rows<Vectors, Partial>(packed, list, *count, to + winner, last);
          list += job.block;
          ++count;
        }
      }
  }
};

// dx (padded) of samples [begin, end).
void sparse_input_gradient(const SparseInputJob& job, int64_t begin, int64_t end,
                           LiveGradient* lists, int32_t* counts, float* padded) {
  const ConvSpec& s = *job.spec;
  const int64_t filters = s.out.channels(), length = s.window.width * s.in.channels();
  const int64_t rows = (end - begin) * job.positions;
  std::fill(padded, padded + (end - begin) * job.sample_pitch, 0.0f);
  const float* packed = job.packed;
  for (int64_t f0 = 0; f0 < filters; f0 += job.block) {
    const int64_t f1 = std::min(filters, f0 + job.block);
    list_live(job, begin * job.positions, rows, f0, f1, lists, counts);
    int32_t scaled = 1;  // offsets are filter × floats of the current segment
    for (int64_t ky = 0; ky < s.window.height; ++ky)
      for (int64_t j = 0; j < length; j += job.segment) {
        const int64_t floats = std::min(job.segment, length - j);
        if (floats != scaled) {
          for (int64_t i = 0; i < rows * 4; ++i)
            for (int32_t q = 0; q < counts[i]; ++q) {
              LiveGradient& live = lists[i * job.block + q];
              live.offset = live.offset / scaled * static_cast<int32_t>(floats);
            }
          scaled = static_cast<int32_t>(floats);
        }
        with_vectors(floats, InputSegment{.job = job,
                                          .packed = packed,
                                          .lists = lists,
                                          .counts = counts,
                                          .samples = end - begin,
                                          .dx = padded + ky * job.row_pitch + j});
        packed += (f1 - f0) * floats;
      }
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
        group_(positions_at_once(spec)) {}

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
        winner_offsets_[k] = static_cast<int32_t>((k >> 1) * s_.window.stride_y * pitch_ +
                                                  (k & 1) * s_.window.stride_x * s_.in.channels());
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
      for (int64_t p = 0; p < rows * positions_; p += group_)
        HWY_DYNAMIC_DISPATCH(sparse_weight_gradient)
      (job, p, std::min(rows * positions_, p + group_), begin, end, lists, counts);
    });
  }

 private:
  // Enough positions for lists that outweigh loading and storing their sums, in bands of rows whose
  // part of the image fits the first-level cache.
  static int64_t positions_at_once(const ConvSpec& s) {
    const Shape pooled = s.result();
    const int64_t row = window_extent(s).columns * s.in.channels();
    const int64_t rows = (5 * 1024 / row - s.window.height) / (2 * s.window.stride_y);
    if (rows < pooled.height()) return std::max(rows, 16 / pooled.width() + 1) * pooled.width();
    const int64_t positions = pooled.height() * pooled.width();
    return positions * std::clamp<int64_t>(32 / positions, 1, 64);
  }

  size_t count_bytes() const {
    return round_up(static_cast<size_t>(s_.out.channels()) * sizeof(int32_t), cache_line);
  }
  size_t member_bytes() const {
    const int64_t entries = s_.out.channels() * (group_ + 1);
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
        block_(std::clamp<int64_t>(6 * 1024 / segment_, std::min<int64_t>(64, spec.out.channels()),
                                   spec.out.channels())),
        rows_(std::max(window_extent(spec).rows, spec.in.height() + spec.window.pad_y)),
        columns_(std::max(window_extent(spec).columns, spec.in.width() + spec.window.pad_x)),
        starts_(pooled_starts(spec, columns_ * spec.in.channels())),
        // dx of a group of samples fits the first-level cache; each pass over the group reads one
        // slice of the weights.
        group_(std::clamp<int64_t>(8 * 1024 / sample_pitch(), 1, 32)) {}

  const char* name() const override { return "sparse"; }

  size_t scratch_bytes() const override {
    return packed_bytes() + static_cast<size_t>(pool_.threads()) * member_bytes();
  }

  void run(int64_t rows, const float* dy, const uint8_t* winners, const float* weights, float* dx,
           std::byte* scratch) override {
    float* packed = reinterpret_cast<float*>(scratch);
    HWY_DYNAMIC_DISPATCH(pack_segments)(weights, s_, segment_, block_, packed);
    const SparseInputJob job{.spec = &s_,
                             .starts = starts_.data(),
                             .positions = positions_,
                             .row_pitch = columns_ * s_.in.channels(),
                             .sample_pitch = sample_pitch(),
                             .segment = segment_,
                             .block = block_,
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
        // Without a border dx is summed in place.
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
    const int64_t entries = group_ * positions_ * 4 * block_ + 1;
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
  int64_t positions_, segment_, block_, rows_, columns_;
  std::vector<int32_t> starts_;
  int64_t group_;
};

// About a third of the pooled gradients are live; each costs a row of taps.
double cost(const ConvSpec& s) {
  if (!s.max_pool) return -1;
  const double pooled = static_cast<double>(s.result().elements());
  const double wasted = s.in.channels() * s.window.width < 16 ? 3 : 1;  // short rows waste lanes
  return pooled * (2.5 + wasted * 0.6 * 2 * static_cast<double>(s.taps()) / 60);
}

}  // namespace

ConvCandidate<ConvWeightGradient> sparse_weight_gradient_candidate() {
  return {
      "sparse", cost, [](const ConvSpec& s, ThreadPool& pool) {
        return std::unique_ptr<ConvWeightGradient>(std::make_unique<SparseWeightGradient>(s, pool));
      }};
}

ConvCandidate<ConvInputGradient> sparse_input_gradient_candidate() {
  return {
      "sparse", cost, [](const ConvSpec& s, ThreadPool& pool) {
        return std::unique_ptr<ConvInputGradient>(std::make_unique<SparseInputGradient>(s, pool));
      }};
}

}  // namespace lockstep
#endif
