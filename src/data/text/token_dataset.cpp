#include "data/text/token_dataset.h"

#include <algorithm>

#include "base/error.h"

namespace lockstep {

TokenDataset::TokenDataset(std::unique_ptr<TokenFile> tokens, int64_t context, int64_t stride)
    : RawDataset(Shape{context}, {}, {}),
      tokens_(std::move(tokens)),
      context_(context),
      strides_{stride, context, context} {
  for (size_t part = 0; part < rows_.size(); ++part) {
    const int64_t starts = tokens_->size(part) - context_;  // the last label needs one more token
    rows_[part] = starts > 0 ? (starts + strides_[part] - 1) / strides_[part] : 0;
  }
}

int64_t TokenDataset::first_token(int64_t row) const {
  ENSURE(row >= 0 && row < size());
  size_t part = 0;
  while (row >= rows_[part]) row -= rows_[part++];
  return tokens_->begin(part) + row * strides_[part];
}

void TokenDataset::read_row(int64_t row, std::span<float> out) const {
  const int64_t first = first_token(row);
  for (int64_t i = 0; i < context_; ++i)
    out[static_cast<size_t>(i)] = static_cast<float>((*tokens_)[first + i]);
}

void TokenDataset::read(std::span<const int64_t> rows, Batch& batch) const {
  const auto context = static_cast<size_t>(context_), count = rows.size();
  batch.rows = static_cast<int64_t>(count);
  batch.x.resize(std::max(batch.x.size(), count * context));
  batch.labels.resize(std::max(batch.labels.size(), count * context));
  batch.ids.resize(std::max(batch.ids.size(), count));
  for (size_t i = 0; i < count; ++i) {
    read_row(rows[i], std::span(batch.x).subspan(i * context, context));
    const int64_t first = first_token(rows[i]);
    for (int64_t t = 0; t < context_; ++t)
      batch.labels[i * context + static_cast<size_t>(t)] = (*tokens_)[first + t + 1];
    batch.ids[i] = rows[i];
  }
}

}  // namespace lockstep
