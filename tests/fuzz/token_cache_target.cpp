#include "data/text/token_dataset.h"
#include "fuzz_target.h"
#include "read_all.h"

namespace lockstep {
namespace {

void read(const std::string& input) {
  auto tokens = std::make_unique<TokenFile>(scratch_file("tokens", input));
  const int32_t vocabulary = tokens->vocabulary();
  const TokenDataset data(std::move(tokens), 4, 2);
  read_all(data);
  Batch batch;
  for (int64_t row = 0; row < data.size(); ++row) {
    data.read(std::vector<int64_t>{row}, batch);
    for (size_t i = 0; i < 4; ++i)
      expect(batch.x[i] >= 0 && batch.x[i] < static_cast<float>(vocabulary),
             "tokens are within the vocabulary");
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const int32_t vocabulary : {300, 70000}) {
    const fs::path path = scratch_folder() / "seed.tokens";
    TokenFile::write(path, {{{1, 2, 3, 299, 5, 6, 7, 8}, {9, 8, 7, 6, 5}, {}}}, vocabulary);
    all.push_back(read_text(path));
  }
  return all;
}

}  // namespace

FuzzTarget token_cache_target() { return {"token-cache", read, seeds}; }

}  // namespace lockstep
