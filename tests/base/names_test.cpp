// Names become folders and are shown on terminals.

#include "base/names.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lockstep {
namespace {

std::string refusal(const std::string& name) {
  try {
    expect_name(name, "s.toml line 3");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Names, MayHaveSpacesAndAnyLetters) {
  for (const char* name :
       {"cnn-690k", "k=2, 1 processors, whole data", "été", "a..b", "-x", "名前"})
    EXPECT_EQ(refusal(name), "") << name;
}

TEST(Names, AreNotPaths) {
  for (const char* name : {"", ".", "..", ".hidden", "../victim", "a/b", "/etc", "a\nb",
                           "a\x1b[31m", "a\x7f", "a\xc2\x9b", "a\xff"}) {
    const std::string said = refusal(name);
    EXPECT_NE(said.find("s.toml line 3: the name '"), std::string::npos) << name << ": " << said;
    EXPECT_NE(said.find("a name becomes a folder"), std::string::npos) << said;
    EXPECT_EQ(said, printable(said)) << "control characters in the message itself";
  }
  EXPECT_NE(refusal(std::string(201, 'a')).find("too long"), std::string::npos);
  EXPECT_NE(refusal(std::string("a\0b", 3)), "");
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("plain, été, 名, \U0001f600"), "plain, été, 名, \U0001f600");
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("a\x7f\r\n\t"), "a\\x7f\\x0d\\x0a\\x09");
  EXPECT_EQ(printable("\xc2\x9b[2J"), "\\xc2\\x9b[2J");  // C1: another form of ESC [
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");           // truncated
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // an overlong '/'
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace lockstep
