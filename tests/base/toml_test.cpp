// Configuration text: values with their locations, and errors that name theirs.

#include "base/toml.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lockstep {
namespace {

std::string error_of_text(const std::string& text) {
  try {
    parse_toml(text, "my.toml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Toml, KeysAreDottedAndKnowTheirLine) {
  const TomlValues values =
      parse_toml("seed = 3\n[train]\nlr = 0.5\nlayers = [\"a\", \"b\"]\n", "my.toml");
  ASSERT_EQ(values.size(), 3u);
  for (const auto& [key, value] : values) {
    if (key == "seed") {
      EXPECT_EQ(std::get<int64_t>(value.data), 3);
      EXPECT_EQ(value.where, "my.toml line 1");
    } else if (key == "train.lr") {
      EXPECT_EQ(std::get<double>(value.data), 0.5);
      EXPECT_EQ(value.where, "my.toml line 3");
    } else {
      EXPECT_EQ(key, "train.layers");
      EXPECT_EQ(std::get<std::vector<std::string>>(value.data),
                (std::vector<std::string>{"a", "b"}));
    }
  }
}

TEST(Toml, SyntaxErrorsNameLineAndColumn) {
  EXPECT_NE(error_of_text("a = 1\nb = = 2\n").find("my.toml line 2, column"), std::string::npos);
  EXPECT_NE(error_of_text("a = 1\na = 2\n").find("my.toml line 2"), std::string::npos);
}

TEST(Toml, ListsHoldTextsOnly) {
  EXPECT_EQ(error_of_text("\nx = [\"a\", 3]\n"),
            "my.toml line 2: x holds something that is not a string");
}

TEST(Toml, AKeyOfTooManyPartsIsRefusedBeforeItExhaustsTheStack) {
  std::string dots;
  for (int i = 0; i < 100'000; ++i) dots += "a.";
  for (const std::string& text :
       {dots + "a = 1", "[" + dots + "a]\nx = 1", "x = {" + dots + "a = 1}",
        "x = [\n{b = [\n{\"=\"." + dots + "a = 1}]}]"}) {
    try {
      parse_toml_lists("\n" + text, "t.toml");
      ADD_FAILURE() << "accepted";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("a key has more than 20 parts"), std::string::npos)
          << std::string(error.what()).substr(0, 200);
    }
  }
  EXPECT_EQ(parse_assignment("x={" + dots + "a=1}").first, "x");
}

TEST(Toml, DotsInTextsAndNumbersDoNotCountAsKeyParts) {
  const std::string dots(1000, '.');
  const TomlValues values = parse_toml("a = \"" + dots + "\"  # " + dots + "\nb = '''\n" + dots +
                                           "\n" + dots + "'''\nc = \"\\\"" + dots + "\"\nd = 0.5\n",
                                       "t.toml");
  EXPECT_EQ(values.size(), 4u);
  EXPECT_EQ(std::get<std::string>(parse_assignment("data.path=" + dots).second.data), dots);
}

TEST(Toml, DatesAreRefused) {
  EXPECT_NE(error_of_text("x = 2026-01-01\n").find("the value of x is neither"), std::string::npos);
}

TEST(Assignment, ReadsTomlOrABareWord) {
  EXPECT_EQ(std::get<int64_t>(parse_assignment("a.b=3").second.data), 3);
  EXPECT_EQ(std::get<double>(parse_assignment("a=1e-3").second.data), 1e-3);
  EXPECT_EQ(std::get<bool>(parse_assignment("a=true").second.data), true);
  EXPECT_EQ(std::get<std::string>(parse_assignment("a=mnist-sample").second.data), "mnist-sample");
  EXPECT_EQ(std::get<std::string>(parse_assignment("a=\"x y\"").second.data), "x y");
  EXPECT_EQ(std::get<std::string>(parse_assignment("a=b=c").second.data), "b=c");
  EXPECT_EQ(std::get<std::string>(parse_assignment("a=").second.data), "");
  EXPECT_EQ(std::get<std::vector<std::string>>(parse_assignment("a=[\"x\"]").second.data),
            std::vector<std::string>{"x"});
  EXPECT_EQ(parse_assignment("a.b=3").first, "a.b");
}

TEST(Assignment, NeedsAKeyAndAnEqualsSign) {
  EXPECT_THROW(parse_assignment("train.epochs"), UserError);
  EXPECT_THROW(parse_assignment("=3"), UserError);
}

TEST(Assignment, RefusesBytesThatAreNotUtf8) {
  EXPECT_THROW(parse_assignment("name=caf\xe9"), UserError);
  EXPECT_EQ(std::get<std::string>(parse_assignment("name=caf\xc3\xa9").second.data), "caf\xc3\xa9");
}

TEST(TomlString, IsReadBackUnchanged) {
  for (const std::string text : {"plain", "a \"quoted\" word", "back\\slash", "two\nlines", "tab\t",
                                 "caf\xc3\xa9", "\x01\x1f\x7f", ""}) {
    const TomlValues values = parse_toml("x = " + toml_string(text), "t");
    EXPECT_EQ(std::get<std::string>(values[0].second.data), text);
  }
}

}  // namespace
}  // namespace lockstep
