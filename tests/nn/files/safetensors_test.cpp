// Safetensors files: round trips, and errors for damaged and hostile files.

#include "nn/files/safetensors.h"

#include <cstring>

#include "base/error.h"
#include "data/data_testing.h"
#include "os/memory.h"

namespace lockstep {
namespace {

class Safetensors : public InFolder {
 protected:
  // A file of a length, this header and `data` zero bytes. The length defaults to the header's.
  fs::path file(const std::string& header, size_t data, std::optional<uint64_t> length = {}) {
    const uint64_t claimed = length.value_or(header.size());
    Content content(sizeof(claimed));
    std::memcpy(content.data(), &claimed, sizeof(claimed));
    content.insert(content.end(), header.begin(), header.end());
    content.resize(content.size() + data);
    return write("model.safetensors", content);
  }
  std::string error_for(const std::string& header, size_t data,
                        std::optional<uint64_t> length = {}) {
    const fs::path path = file(header, data, length);
    return error_of<UserError>([&] { read_safetensors(path); });
  }
};

// The entry of one float tensor in the header.
std::string entry(const std::string& name, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"F32","shape":{},"data_offsets":{}}})", name, shape,
                     offsets);
}
std::string header(const std::string& entries) { return "{" + entries + "}"; }

TEST_F(Safetensors, ReadBackAsTheyWereWritten) {
  const std::vector<NamedTensor> tensors = {{"b.weight", {2, 3}, {1, -2, 3.5f, 0, 1e-30f, 6}},
                                            {"a \"quoted\" name", {1}, {7}},
                                            {"empty", {0, 4}, {}},
                                            {"scalar", {}, {9}}};
  write_file(folder() / "x", safetensors_bytes(tensors, {{"format", "pt"}, {"note", "a\nb"}}));
  const TensorFile read = read_safetensors(folder() / "x");
  ASSERT_EQ(read.tensors.size(), tensors.size());
  for (const NamedTensor& expected : tensors) {
    const auto found = std::find_if(read.tensors.begin(), read.tensors.end(),
                                    [&](const NamedTensor& t) { return t.name == expected.name; });
    ASSERT_NE(found, read.tensors.end()) << expected.name;
    EXPECT_EQ(found->shape, expected.shape);
    EXPECT_EQ(found->values, expected.values);
  }
  EXPECT_EQ(read.metadata, (Metadata{{"format", "pt"}, {"note", "a\nb"}}));
}

TEST_F(Safetensors, TheDataStartAtAMultipleOfEight) {
  write_file(folder() / "x", safetensors_bytes({{"a", {1}, {7}}}, {}));
  const Content content = read_bytes(folder() / "x");
  EXPECT_EQ((content.size() - sizeof(float)) % 8, 0u);
}

TEST_F(Safetensors, TensorsMayBeListedInAnyOrder) {
  const fs::path path =
      file(header(entry("b", "[2]", "[4,12]") + "," + entry("a", "[1]", "[0,4]")), 12);
  const TensorFile read = read_safetensors(path);
  EXPECT_EQ(read.tensors[0].name, "a");
  EXPECT_EQ(read.tensors[1].values.size(), 2u);
}

TEST_F(Safetensors, AMissingFileIsNamed) {
  expect_says(error_of<UserError>([&] { read_safetensors(folder() / "none"); }),
              {"none", "cannot read"});
  expect_says(error_of<UserError>([&] { read_safetensors(folder()); }), {"cannot read"});
}

TEST_F(Safetensors, AFileCutShortIsNotRead) {
  write_file(folder() / "whole",
             safetensors_bytes({{"a", {3}, {1, 2, 3}}, {"b", {2}, {4, 5}}}, {{"k", "v"}}));
  const Content whole = read_bytes(folder() / "whole");
  for (size_t length = 0; length < whole.size(); ++length) {
    const fs::path cut =
        write("cut", Content(whole.begin(), whole.begin() + static_cast<int64_t>(length)));
    expect_says(error_of<UserError>([&] { read_safetensors(cut); }), {"cut", "not a valid"});
  }
}

TEST_F(Safetensors, BytesAfterTheLastTensorAreAnError) {
  expect_says(error_for(header(entry("a", "[1]", "[0,4]")), 5), {"1 bytes after the last tensor"});
  expect_says(error_for("{}", 1), {"1 bytes after"});
}

TEST_F(Safetensors, AHeaderLongerThanTheFileIsAnError) {
  for (const uint64_t length :
       {uint64_t{3}, uint64_t{100}, uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 7})
    expect_says(error_for("{}", 0, length), {fmt::format("claims {} bytes", length)});
}

TEST_F(Safetensors, AHeaderThatIsNoJsonObjectIsAnError) {
  for (const std::string text : {"", "x", "{", "[]", "3", "null", "{\"a\":}", "{}x", "\xff\xfe{}"})
    expect_says(error_for(text, 0), {"not a JSON object"});
}

TEST_F(Safetensors, OnlyF32IsRead) {
  for (const char* type : {"\"F16\"", "\"F64\"", "\"I32\"", "\"f32\"", "4", "null", "[]"})
    expect_says(
        error_for(fmt::format(R"({{"a":{{"dtype":{},"shape":[1],"data_offsets":[0,4]}}}})", type),
                  4),
        {"'a'", type, "only F32"});
}

TEST_F(Safetensors, EveryTensorNeedsTypeShapeAndOffsets) {
  for (const char* text :
       {R"({"a":3})", R"({"a":null})", R"({"a":{}})", R"({"a":{"dtype":"F32","shape":[1]}})",
        R"({"a":{"dtype":"F32","data_offsets":[0,4]}})",
        R"({"a":{"shape":[1],"data_offsets":[0,4]}})"})
    expect_says(error_for(text, 4), {"'a'", "lacks"});
}

TEST_F(Safetensors, ShapesAreListsOfWholeNumbers) {
  for (const char* shape :
       {"[-1]", "[1.0]", "[0.5,2]", "[\"1\"]", "[null]", "[[1]]", "[true]", "[1e0]"})
    expect_says(error_for(header(entry("a", shape, "[0,4]")), 4), {"'a'", "shape", "whole number"});
  for (const char* shape : {"1", "\"1\"", "{}", "null"})
    expect_says(error_for(header(entry("a", shape, "[0,4]")), 4), {"'a'", "shape"});
}

TEST_F(Safetensors, AShapeWhoseSizeOverflowsIsAnError) {
  for (const char* shape :
       {"[4294967296,4294967296]", "[9223372036854775807,2]", "[18446744073709551615]",
        "[4611686018427387905]", "[0,9223372036854775808]", "[2,2,2,2,2305843009213693952]"})
    expect_says(error_for(header(entry("a", shape, "[0,4]")), 4), {"'a'", "overflows"});
  expect_says(error_for(header(entry("a", "[18446744073709551616]", "[0,4]")), 4), {"'a'"});
}

TEST_F(Safetensors, TheShapeMustMatchTheBytes) {
  expect_says(error_for(header(entry("a", "[2]", "[0,4]")), 4), {"'a'", "needs 8 bytes", "has 4"});
  expect_says(error_for(header(entry("a", "[0]", "[0,4]")), 4), {"'a'", "needs 0 bytes", "has 4"});
  expect_says(error_for(header(entry("a", "[1]", "[0,3]")), 3), {"'a'", "needs 4 bytes", "has 3"});
}

TEST_F(Safetensors, OffsetsStayWithinTheFileAndInOrder) {
  for (const char* offsets : {"[4,0]", "[0,8]", "[8,12]", "[0,18446744073709551615]", "[100,104]"})
    expect_says(error_for(header(entry("a", "[1]", offsets)), 4), {"'a'", "holds 4 bytes"});
  for (const char* offsets : {"[-4,0]", "[0,4.0]", "[0,\"4\"]", "[null,4]"})
    expect_says(error_for(header(entry("a", "[1]", offsets)), 4), {"'a'", "whole number"});
  for (const char* offsets : {"[]", "[0]", "[0,4,8]", "4", "null", "{}"})
    expect_says(error_for(header(entry("a", "[1]", offsets)), 4), {"'a'", "data_offsets"});
}

TEST_F(Safetensors, TensorsDoNotOverlap) {
  expect_says(error_for(header(entry("a", "[2]", "[0,8]") + "," + entry("b", "[1]", "[4,8]")), 8),
              {"'b' overlaps"});
  expect_says(error_for(header(entry("a", "[2]", "[0,8]") + "," + entry("b", "[2]", "[0,8]")), 8),
              {"overlaps"});
}

TEST_F(Safetensors, GapsBetweenTensorsAreAnError) {
  expect_says(error_for(header(entry("a", "[1]", "[0,4]") + "," + entry("b", "[1]", "[8,12]")), 12),
              {"bytes 4 to 8 belong to no tensor"});
  expect_says(error_for(header(entry("a", "[1]", "[4,8]")), 8),
              {"bytes 0 to 4 belong to no tensor"});
}

TEST_F(Safetensors, DuplicateNamesAreAnError) {
  const std::string twice = entry("a", "[1]", "[0,4]") + "," + entry("a", "[1]", "[4,8]");
  expect_says(error_for(header(twice), 8), {"'a' is used twice"});
  const std::string same = entry("a", "[1]", "[0,4]");
  expect_says(error_for(header(same + "," + same), 4), {"'a' is used twice"});
}

TEST_F(Safetensors, MetadataMustBeTexts) {
  for (const char* metadata : {"3", "[]", "null", "\"x\""})
    expect_says(error_for(fmt::format(R"({{"__metadata__":{}}})", metadata), 0),
                {"__metadata__ is not an object"});
  for (const char* value : {"3", "null", "[]", "{}", "true"})
    expect_says(error_for(fmt::format(R"({{"__metadata__":{{"k":{}}}}})", value), 0),
                {"__metadata__", "not text"});
}

TEST_F(Safetensors, ClaimedSizesAreCheckedBeforeAllocation) {
  const int64_t before = peak_memory_bytes();
  for (const char* size : {"1000000000", "1000000000000", "1152921504606846976"}) {
    error_for(header(entry("a", fmt::format("[{}]", size), "[0,4]")), 4);
    error_for(header(entry("a", fmt::format("[{}]", size), fmt::format("[0,{}]", size))), 4);
    error_for("{}", 0, std::stoull(size));
  }
  EXPECT_LT(peak_memory_bytes() - before, 50'000'000);
}

TEST_F(Safetensors, WithAHeaderNestedVeryDeepAreRefused) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& text : {deep, std::string(100'000, '[')})
    expect_says(error_for(text, 0), {"nested more than 8 deep"});
  expect_says(error_for("{\"a\":{\"dtype\":" + deep + R"(,"shape":[0],"data_offsets":[0,0]}})", 0),
              {"nested more than 8 deep"});
}

}  // namespace
}  // namespace lockstep
