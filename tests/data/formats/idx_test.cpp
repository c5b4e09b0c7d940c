#include "data/formats/idx.h"

#include "base/error.h"
#include "data/data_testing.h"
#include "data/gzip_testing.h"

namespace lockstep {
namespace {

class IdxReader : public InFolder {
 protected:
  std::string error_for(const Content& content, int rank = 3) {
    const fs::path path = write("file.idx", content);
    return error_of<UserError>([&] {
      IdxFile file(path, rank);
      Content out(file.bytes());
      file.read_into(out);
    });
  }
};

TEST_F(IdxReader, ReadsPlainAndCompressedFiles) {
  const Content images = idx_images(3, 2, 5);
  for (const fs::path& path : {write("a", images), write("a.gz", gzipped(images))}) {
    IdxFile file(path, 3);
    EXPECT_EQ(file.count(), 3);
    EXPECT_EQ(file.extent(1), 2);
    EXPECT_EQ(file.extent(2), 5);
    Content out(file.bytes());
    file.read_into(out);
    EXPECT_EQ(out, Content(images.begin() + 16, images.end()));
  }
}

TEST_F(IdxReader, SaysHowManyBytesAreMissingWhenTruncated) {
  Content images = idx_images(3, 2, 5);
  images.resize(40);
  expect_says(error_for(images), {"file.idx is truncated", "promises 46 bytes", "holds 40"});
  expect_says(error_for(gzipped(images)),
              {"file.idx is truncated", "promises 46 bytes", "holds 40"});
}

TEST_F(IdxReader, SaysWhenTheCompressedDataEndEarly) {
  Content packed = gzipped(idx_images(30, 20, 20));
  packed.resize(packed.size() / 2);
  expect_says(error_for(packed), {"file.idx is truncated", "promises 12016 bytes"});
}

TEST_F(IdxReader, NoticesDamageInCompressedData) {
  Content packed = gzipped(idx_images(30, 20, 20));
  packed[packed.size() - 8] ^= 1;  // the checksum
  expect_says(error_for(packed), {"file.idx", "gzip data are damaged", "incorrect data check"});
}

TEST_F(IdxReader, RefusesTrailingBytes) {
  Content images = idx_images(3, 2, 5);
  images.push_back(0);
  expect_says(error_for(images), {"file.idx is oversized", "promises 46 bytes", "holds 47"});
  expect_says(error_for(gzipped(images)), {"file.idx is oversized", "promises 46 bytes"});
}

TEST_F(IdxReader, RefusesAFileShorterThanItsHeader) {
  expect_says(error_for({0, 0, 8, 3, 0}), {"file.idx is truncated", "5 bytes", "16"});
  expect_says(error_for({}), {"file.idx is truncated", "0 bytes", "16"});
}

TEST_F(IdxReader, NamesTheMagicNumberItFound) {
  expect_says(error_for(idx_images(3, 2, 5), 1),
              {"file.idx is not an IDX file of labels", "0x00000803", "0x00000801"});
  expect_says(error_for(Content(16, 'P')), {"0x50505050", "expected 0x00000803"});
}

TEST_F(IdxReader, RefusesADimensionOfZero) {
  expect_says(error_for(idx_header({3, 0, 28})), {"file.idx is empty", "dimension 2", "byte 8"});
}

TEST_F(IdxReader, RefusesDimensionsWhoseProductOverflows) {
  const uint32_t huge = 0xffffffffu;
  expect_says(error_for(idx_header({huge, huge, huge})), {"file.idx", "2^63"});
}

TEST_F(IdxReader, AllocatesNothingForAHeaderThatPromisesTooMuch) {
  const Content header = idx_header({60000, 10000, 10000});
  expect_says(error_for(header), {"truncated", "promises 6000000000016 bytes", "holds 16"});
  expect_says(error_for(gzipped(header)), {"file.idx", "promises 6000000000000 bytes"});
}

TEST_F(IdxReader, SaysWhenThereIsNoSuchFile) {
  const auto open = [&] { IdxFile(folder() / "none", 3); };
  expect_says(error_of<UserError>(open), {"none", "no such file"});
  const auto open_folder = [&] { IdxFile(folder(), 3); };
  expect_says(error_of<UserError>(open_folder), {folder().string(), "not a file"});
}

}  // namespace
}  // namespace lockstep
