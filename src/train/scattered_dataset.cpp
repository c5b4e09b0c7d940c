#include "train/scattered_dataset.h"

#include <algorithm>

#include "base/error.h"
#include "base/part.h"

namespace lockstep {
namespace {

struct Head {
  int64_t size = 0, features = 0, height = 0, width = 0, channels = 0;
  int64_t outputs = 0, answers = 1;
};

class ScatteredDataset final : public Dataset {
 public:
  ScatteredDataset(const Head& head, std::vector<std::string> classes, Part held)
      : size_(head.size),
        shape_(head.height > 0 ? Shape{head.height, head.width, head.channels}
                               : Shape{head.features}),
        classes_(std::move(classes)),
        outputs_(head.outputs),
        answers_(head.answers),
        held_(held),
        x(static_cast<size_t>(held.size() * shape_.elements())),
        labels(static_cast<size_t>(held.size() * head.answers)) {}

  int64_t size() const override { return size_; }
  Shape sample_shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t row) const override {
    return labels[index(row) * static_cast<size_t>(answers_)];
  }
  int64_t outputs() const override { return outputs_; }
  int64_t answers() const override { return answers_; }
  void read(std::span<const int64_t> rows, Batch& batch) const override {
    const auto sample = static_cast<size_t>(shape_.elements()),
               answers = static_cast<size_t>(answers_);
    batch.rows = static_cast<int64_t>(rows.size());
    batch.x.resize(std::max(batch.x.size(), rows.size() * sample));
    batch.labels.resize(std::max(batch.labels.size(), rows.size() * answers));
    batch.ids.resize(std::max(batch.ids.size(), rows.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t at = index(rows[i]);
      std::copy_n(x.data() + at * sample, sample, batch.x.data() + i * sample);
      std::copy_n(labels.data() + at * answers, answers, batch.labels.data() + i * answers);
      batch.ids[i] = rows[i];
    }
  }

 private:
  size_t index(int64_t row) const {
    ENSURE(row >= held_.begin && row < held_.end);
    return static_cast<size_t>(row - held_.begin);
  }

  int64_t size_;
  Shape shape_;
  std::vector<std::string> classes_;
  int64_t outputs_, answers_;
  Part held_;

 public:
  std::vector<float> x;
  std::vector<int32_t> labels;
};

// Rows [first, first + rows) of every rank's part, in the order of ranks; parts may end earlier.
struct Deal {
  std::vector<float> x;
  std::vector<int32_t> labels;
  std::vector<int64_t> x_bytes, label_bytes;  // per rank
};

Deal deal(const Dataset* whole, const Head& head, int64_t first, int64_t rows, int ranks) {
  const int64_t size = head.size, sample = head.features, answers = head.answers;
  Deal d;
  Batch batch;
  for (int r = 0; r < ranks; ++r) {
    const Part part = part_of(size, ranks, r);
    const int64_t begin = std::min(part.begin + first, part.end);
    const int64_t end = std::min(begin + rows, part.end);
    d.x_bytes.push_back((end - begin) * sample * int64_t{sizeof(float)});
    d.label_bytes.push_back((end - begin) * answers * int64_t{sizeof(int32_t)});
    if (!whole || begin == end) continue;
    std::vector<int64_t> wanted;
    for (int64_t row = begin; row < end; ++row) wanted.push_back(row);
    whole->read(wanted, batch);
    d.x.insert(d.x.end(), batch.x.begin(), batch.x.begin() + (end - begin) * sample);
    d.labels.insert(d.labels.end(), batch.labels.begin(),
                    batch.labels.begin() + (end - begin) * answers);
  }
  return d;
}

}  // namespace

std::unique_ptr<Dataset> scatter_samples(const Dataset* whole, Communicator& ranks) {
  Head head;
  std::string names;
  if (whole) {
    const Shape shape = whole->sample_shape();
    head = {.size = whole->size(),
            .features = shape.elements(),
            .outputs = whole->outputs(),
            .answers = whole->answers()};
    if (shape.is_image())
      head.height = shape.height(), head.width = shape.width(), head.channels = shape.channels();
    for (const std::string& name : whole->classes()) names += name + '\0';
  }
  ranks.broadcast(std::as_writable_bytes(std::span(&head, 1)), 0).wait();
  names = gather_texts(ranks, names)[0];
  std::vector<std::string> classes;
  for (size_t at = 0; at < names.size(); at += classes.back().size() + 1)
    classes.push_back(names.substr(at, names.find('\0', at) - at));

  const Part mine = part_of(head.size, ranks.size(), ranks.rank());
  auto part = std::make_unique<ScatteredDataset>(head, std::move(classes), mine);
  constexpr int64_t rows_at_once = 1024;  // per rank, in memory of rank 0
  const int64_t longest = (head.size + ranks.size() - 1) / ranks.size();
  size_t x_at = 0, label_at = 0;
  for (int64_t first = 0; first < longest; first += rows_at_once) {
    const Deal d = deal(whole, head, first, rows_at_once, ranks.size());
    const auto me = static_cast<size_t>(ranks.rank());
    const size_t floats = static_cast<size_t>(d.x_bytes[me]) / sizeof(float);
    const size_t count = static_cast<size_t>(d.label_bytes[me]) / sizeof(int32_t);
    ranks
        .scatter(std::as_bytes(std::span(d.x)),
                 std::as_writable_bytes(std::span(part->x).subspan(x_at, floats)), d.x_bytes, 0)
        .wait();
    ranks
        .scatter(std::as_bytes(std::span(d.labels)),
                 std::as_writable_bytes(std::span(part->labels).subspan(label_at, count)),
                 d.label_bytes, 0)
        .wait();
    x_at += floats;
    label_at += count;
  }
  return part;
}

}  // namespace lockstep
