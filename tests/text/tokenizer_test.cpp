#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/data_testing.h"
#include "data/text/load_tokenizer.h"
#include "text/strings.h"
#include "text/tokenizer.h"

namespace lockstep {
namespace {

// GPT-2's tokenizer; null if it cannot be fetched: the test is then skipped.
const Tokenizer* gpt2() {
  static const std::unique_ptr<Tokenizer> tokenizer = []() -> std::unique_ptr<Tokenizer> {
    try {
      return std::make_unique<Tokenizer>(load_tokenizer("gpt2", [](const std::string&) {}));
    } catch (const Failure&) {
      return nullptr;
    }
  }();
  return tokenizer.get();
}

uint32_t hash_of(const std::vector<int32_t>& ids) {
  uint32_t hash = 0x811c9dc5;
  for (const int32_t id : ids) hash = (hash ^ static_cast<uint32_t>(id)) * 0x01000193;
  return hash;
}

TEST(Gpt2Tokenizer, GivesTheIdsOfAnIndependentImplementation) {
  if (!gpt2()) GTEST_SKIP() << "GPT-2's vocabulary cannot be fetched here";
  const std::vector<std::string> strings = test_strings(12000);
  if (const char* path = std::getenv("LOCKSTEP_WRITE_STRINGS"))  // for make_gpt2_ids.mjs
    std::ofstream(path) << nlohmann::json(strings).dump();
  std::ifstream golden(LOCKSTEP_TESTS_FOLDER "/text/gpt2_ids.txt");
  for (const std::string& text : strings) {
    uint32_t expected = 0;
    ASSERT_TRUE(golden >> std::hex >> expected);
    ASSERT_EQ(hash_of(gpt2()->encode(text)), expected) << '"' << text << '"';
  }
}

TEST(Gpt2Tokenizer, GivesKnownIds) {
  if (!gpt2()) GTEST_SKIP() << "GPT-2's vocabulary cannot be fetched here";
  EXPECT_EQ(gpt2()->encode("Hello, world!"), (std::vector<int32_t>{15496, 11, 995, 0}));
  EXPECT_EQ(gpt2()->size(), 50257);
  EXPECT_EQ(gpt2()->end_of_text(), 50256);
}

TEST(Gpt2Tokenizer, RestoresEveryByteString) {
  if (!gpt2()) GTEST_SKIP() << "GPT-2's vocabulary cannot be fetched here";
  Rng rng(1, Purpose::noise);
  const Tokenizer bytes = Tokenizer::bytes();
  for (int i = 0; i < 2000; ++i) {  // most of these are broken UTF-8
    std::string text;
    for (uint64_t n = rng.below(40); n > 0; --n) text += static_cast<char>(rng.below(256));
    ASSERT_EQ(gpt2()->decode(gpt2()->encode(text)), text);
    ASSERT_EQ(bytes.decode(bytes.encode(text)), text);
  }
  for (const std::string& text : test_strings(500))
    ASSERT_EQ(gpt2()->decode(gpt2()->encode(text)), text);
}

// A text of one word takes linear time too.
TEST(Gpt2Tokenizer, MergesLongWordsInLinearTime) {
  if (!gpt2()) GTEST_SKIP() << "GPT-2's vocabulary cannot be fetched here";
  const std::string ten_megabytes(10'000'000, 'a');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(gpt2()->decode(gpt2()->encode(ten_megabytes)), ten_megabytes);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 60);  // quadratic time would be days
}

TEST(ByteTokenizer, HasOneTokenPerByte) {
  const Tokenizer bytes = Tokenizer::bytes();
  EXPECT_EQ(bytes.size(), 256);
  EXPECT_EQ(bytes.encode("Az\xff"), (std::vector<int32_t>{'A', 'z', 255}));
  EXPECT_EQ(bytes.end_of_text(), 0);
}

// A vocabulary of all bytes and further tokens.
std::string vocabulary_with(const std::vector<std::string>& more) {
  nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(Tokenizer::bytes().files().at("vocab.json"));
  for (const std::string& token : more) json[token] = json.size();
  return json.dump();
}

class TokenizerFiles : public InFolder {};

TEST_F(TokenizerFiles, MergeInTheOrderOfTheirLines) {
  const Tokenizer t = Tokenizer::from_files(vocabulary_with({"ab", "bc", "abc"}),
                                            "#version\nb c\na b\na bc\n", "x");
  EXPECT_EQ(t.encode("abc"), (std::vector<int32_t>{258}));
  EXPECT_EQ(t.encode("abab"), (std::vector<int32_t>{256, 256}));
}

TEST_F(TokenizerFiles, AreReadBackAsTheyWereWritten) {
  const Tokenizer before =
      Tokenizer::from_files(vocabulary_with({"ab", "abab"}), "a b\nab ab\n", "x");
  for (const auto& [name, content] : before.files()) write_file(folder() / name, content);
  const std::string text = "ababab\n\xf0";
  EXPECT_EQ(Tokenizer::read(folder()).encode(text), before.encode(text));
  fs::remove(folder() / "vocab.json");  // tokenizer.json alone
  EXPECT_EQ(Tokenizer::read(folder()).encode(text), before.encode(text));
}

TEST_F(TokenizerFiles, SayWhatIsWrongAndWhere) {
  const auto error = [](const std::string& vocabulary, const std::string& merges) {
    return error_of<UserError>([&] { Tokenizer::from_files(vocabulary, merges, "dir"); });
  };
  const std::string good = vocabulary_with({"ab"});
  expect_says(error("[1]", ""), {"not a JSON object"});
  expect_says(error("{\"a\":0}", ""), {"1 tokens", "256"});
  expect_says(error(vocabulary_with({"\xe2\x82\xac"}).replace(1, 0, "\"x\":{\"y\":1},"), ""),
              {"nested"});
  expect_says(error(good.substr(0, good.size() - 1) + ",\"zz\":9999}", ""), {"'zz'", "9999"});
  expect_says(error(good.substr(0, good.size() - 1) + ",\"zz\":5}", ""), {"5", "twice"});
  expect_says(error(good.substr(0, good.size() - 1) + ",\"ab\":257}", ""), {"'ab' appears twice"});
  expect_says(error(good, "a\n"), {"line 1", "two tokens"});
  expect_says(error(good, "a b\nb c\n"), {"line 2", "'bc' is not in the vocabulary"});
  expect_says(error(vocabulary_with({"ab", "abc"}), "ab c\na b\n"), {"line 1", "before"});
}

}  // namespace
}  // namespace lockstep
