// Text as samples: templates, tables, parts, the cache of tokens.

#include "base/error.h"
#include "data/data_testing.h"
#include "data/load.h"
#include "data/text/text_template.h"
#include "data/text/token_file.h"

namespace lockstep {
namespace {

class TextData : public InFolder {
 protected:
  DataConfig config(const std::string& file) const {
    DataConfig c;
    c.name = "text";
    c.path = (folder() / file).string();
    c.context = 4;
    return c;
  }
  DataSplits load(const DataConfig& c) const {
    return load_data(c, 7, [](const std::string&) {});
  }
  // The tokens of a part's samples as text, or their labels.
  static std::string text(const Dataset& data, bool answers = false) {
    std::string all;
    Batch batch;
    for (int64_t row = 0; row < data.size(); ++row) {
      data.read(std::vector<int64_t>{row}, batch);
      for (size_t i = 0; i < 4; ++i)
        all += static_cast<char>(answers ? batch.labels[i] : static_cast<int32_t>(batch.x[i]));
    }
    return all;
  }

 private:
  WithVariable cache_{"LOCKSTEP_DATA", (folder() / "cache").string()};
};

TEST_F(TextData, HasTheNextTokensAsLabels) {
  write("a.txt", "abcdefghij");
  const DataSplits data = load(config("a.txt"));
  EXPECT_EQ(text(*data.train), "abcdefgh");  // the rest is too short for a sample
  EXPECT_EQ(text(*data.train, true), "bcdefghi");
  EXPECT_EQ(data.train->outputs(), 256);
  EXPECT_EQ(data.train->answers(), 4);
  EXPECT_EQ(data.validation, nullptr);
}

TEST_F(TextData, KeepsItsEndForValidationAndTest) {
  write("a.txt", "aaaaaaaaaabbbbbccccc");
  DataConfig c = config("a.txt");
  c.validation = 0.25, c.test = 5;
  c.stride = 1;  // applies to the training part only
  const DataSplits data = load(c);
  EXPECT_EQ(data.train->size(), 6);
  EXPECT_EQ(text(*data.validation), "bbbb");
  EXPECT_EQ(text(*data.test), "cccc");
}

TEST_F(TextData, RowsOfTablesAreMergedAndEndWithEndOfText) {
  write("a.csv", "q,a\nx,\"1,\n2\"\ny,3\n");
  write("a.jsonl",
        "{\"q\": \"x\", \"a\": \"1,\\n2\"}\n\n{\"q\": \"y\", \"a\": 3, \"more\": [1]}\n");
  for (const char* file : {"a.csv", "a.jsonl"}) {
    DataConfig c = config(file);
    c.text_template = "{q}={{{a}}};";
    c.context = 4;
    EXPECT_EQ(text(*load(c).train), std::string("x={1,\n2};\0y={3};", 16)) << file;
  }
}

TEST_F(TextData, RowsAreAssignedToPartsAtRandom) {
  std::string rows = "text\n";
  for (int i = 0; i < 100; ++i) rows += "abcdefgh\n";
  write("a.csv", rows);
  DataConfig c = config("a.csv");
  c.test = 0.2, c.validation = 10;
  const DataSplits data = load(c);
  EXPECT_EQ(data.test->size(), (20 * 9 - 1) / 4);
  EXPECT_EQ(data.validation->size(), (10 * 9 - 1) / 4);
}

TEST_F(TextData, IsReadFromTheCacheAndADamagedCacheIsRebuilt) {
  write("a.txt", "abcdefghij");
  const std::string before = text(*load(config("a.txt")).train);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder() / "cache/tokens")) {
    if (entry.path().extension() != ".tokens") continue;
    ++files;
    write_file(entry.path(), read_text(entry.path()).substr(0, 50));
  }
  EXPECT_EQ(files, 1);
  EXPECT_EQ(text(*load(config("a.txt")).train), before);
  write("a.txt", "zyxwvutsrq");  // another text has its own tokens
  EXPECT_EQ(text(*load(config("a.txt")).train), "zyxwvuts");
}

// A flipped bit does not change the size. Regression: an id beyond the vocabulary crashed.
TEST_F(TextData, ACacheWithChangedTokensIsRebuilt) {
  write("a.txt", "abcdefghij");
  const std::string before = text(*load(config("a.txt")).train);
  for (const int damaged_byte : {1, 0}) {  // beyond the vocabulary, and within it
    for (const auto& entry : fs::directory_iterator(folder() / "cache/tokens")) {
      if (entry.path().extension() != ".tokens") continue;
      std::string content = read_text(entry.path());
      content[content.size() - 4 + static_cast<size_t>(damaged_byte)] ^= 1;
      write_file(entry.path(), content);
    }
    EXPECT_EQ(text(*load(config("a.txt")).train), before);
    EXPECT_EQ(text(*load(config("a.txt")).train, true), "bcdefghi");
  }
}

TEST_F(TextData, TokenFilesRefuseTokensBeyondTheirVocabulary) {
  for (const int32_t vocabulary : {300, 70000}) {
    TokenFile::write(folder() / "t", {{{1, vocabulary}, {}, {2}}}, vocabulary);
    expect_says(error_of<Failure>([&] { TokenFile(folder() / "t"); }),
                {fmt::format("token {0} is beyond its vocabulary of {0}", vocabulary)});
  }
}

TEST_F(TextData, IsNamedAfterItsFile) {
  write("mine.txt", "abcdefghij");
  DataConfig c = config("mine.txt");
  for (const char* name : {"text", "tiny-shakespeare"}) {
    c.name = name;
    const std::string provenance = load(c).provenance;
    EXPECT_TRUE(provenance.starts_with("mine.txt (10 tokens by bytes;")) << provenance;
  }
}

TEST_F(TextData, ComesWithASampleOfProblems) {
  DataConfig c = config("");
  c.name = "problems-sample";
  c.path = "";
  c.text_template = "{problem}\n{solution}";
  c.split_column = "split";
  const DataSplits data = load(c);
  ASSERT_TRUE(data.train && data.validation && data.test);
  expect_says(text(*data.train), {"Write a function to find the", "def ", "return "});
  c.path = "mine.csv";
  expect_says(error_of<UserError>([&] { load(c); }), {"data.path", "text"});
}

TEST_F(TextData, ListsTheColumnsIfOneIsMissing) {
  write("a.csv", "problem,solution\n1+1,2\n");
  write("a.jsonl", "{\"problem\": \"1+1\", \"solution\": 2}\n");
  for (const char* file : {"a.csv", "a.jsonl"}) {
    DataConfig c = config(file);
    c.text_template = "{problem}={solution}";
    c.split_column = "split";
    expect_says(
        error_of<UserError>([&] { load(c); }),
        {file, "no column 'split'", "data.split_column", "problem, solution", "data.validation"});
    c.split_column = "";
    c.text_template = "{question}";
    expect_says(error_of<UserError>([&] { load(c); }),
                {"no column 'question'", "data.template", "problem, solution"});
  }
}

TEST_F(TextData, TokenFilesHoldTokensOfAnySize) {
  for (const int32_t vocabulary : {300, 70000}) {
    const int32_t last = vocabulary - 1;
    TokenFile::write(folder() / "t", {{{1, last}, {}, {2}}}, vocabulary);
    const TokenFile file(folder() / "t");
    EXPECT_EQ(file.size(0), 2);
    EXPECT_EQ(file[1], last);
    EXPECT_EQ(file.begin(2), 2);
    EXPECT_EQ(file[file.begin(2)], 2);
  }
  write("u", "LSTOKEN1");
  EXPECT_THROW(TokenFile(folder() / "u"), Failure);
}

TEST_F(TextData, ExplainsInvalidTemplatesAndRows) {
  const auto error = [](const std::string& text) {
    return error_of<UserError>([&] { TextTemplate{text}; });
  };
  expect_says(error("{a"), {"names no column"});
  expect_says(error("a{}"), {"character 2"});
  expect_says(error("a}"), {"nothing opens"});
  expect_says(error("plain"), {"names no column", "{text}"});
  write("bad.csv", "a,b\n1\n");
  DataConfig c = config("bad.csv");
  c.text_template = "{a}";
  expect_says(error_of<UserError>([&] { load(c); }), {"bad.csv, line 2", "1 fields"});
  write("bad.jsonl", "{\"a\": 1}\nnot json\n");
  c = config("bad.jsonl");
  c.text_template = "{a}";
  expect_says(error_of<UserError>([&] { load(c); }), {"line 2", "not a JSON object"});
  c = config("bad.csv");
  c.stratified = true;
  expect_says(error_of<UserError>([&] { load(c); }), {"stratified"});
}

}  // namespace
}  // namespace lockstep
