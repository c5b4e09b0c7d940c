#include "base/enum_text.h"

#include <gtest/gtest.h>

namespace lockstep {

enum class Fruit { apple, blood_orange };
template <>
inline constexpr auto enum_texts<Fruit> = std::array{"apple", "blood-orange"};

namespace {

TEST(EnumText, ConvertsBothWays) {
  EXPECT_STREQ(to_text(Fruit::blood_orange), "blood-orange");
  EXPECT_EQ(from_text<Fruit>("blood-orange"), Fruit::blood_orange);
  EXPECT_EQ(from_text<Fruit>("apple"), Fruit::apple);
}

TEST(EnumText, RefusesUnknownTexts) {
  EXPECT_EQ(from_text<Fruit>("blood_orange"), std::nullopt);
  EXPECT_EQ(from_text<Fruit>(""), std::nullopt);
}

TEST(EnumText, ListsAllTexts) {
  EXPECT_EQ(all_texts<Fruit>(), (std::vector<std::string>{"apple", "blood-orange"}));
}

}  // namespace
}  // namespace lockstep
