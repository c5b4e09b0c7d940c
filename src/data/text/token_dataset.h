#pragma once

#include <array>

#include "data/datasets/raw_dataset.h"
#include "data/text/token_file.h"

namespace lockstep {

// Samples of `context` tokens, labelled with the next token of each position. A training sample
// starts every `stride` tokens; validation and test samples do not overlap. Rows are in the order
// train, validation, test.
class TokenDataset final : public RawDataset {
 public:
  TokenDataset(std::unique_ptr<TokenFile> tokens, int64_t context, int64_t stride);

  int64_t rows(size_t part) const { return rows_[part]; }
  int64_t size() const override { return rows_[0] + rows_[1] + rows_[2]; }
  int32_t label(int64_t) const override { return 0; }
  int64_t outputs() const override { return tokens_->vocabulary(); }
  int64_t answers() const override { return context_; }
  void read(std::span<const int64_t> rows, Batch& batch) const override;
  Normalizer fit(Normalize, std::span<const int64_t>) const override { return {}; }

 protected:
  void read_row(int64_t row, std::span<float> out) const override;

 private:
  int64_t first_token(int64_t row) const;

  std::unique_ptr<TokenFile> tokens_;
  int64_t context_;
  std::array<int64_t, 3> strides_;
  std::array<int64_t, 3> rows_{};
};

}  // namespace lockstep
