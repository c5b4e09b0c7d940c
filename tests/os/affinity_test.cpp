#include "os/affinity.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lockstep {
namespace {

using Plan = std::vector<std::vector<int>>;

// Two packages of two cores with two hardware threads each, numbered as Linux often does.
const std::vector<Core> server = {{0, 0, 0}, {1, 0, 1}, {2, 1, 0}, {3, 1, 1},
                                  {4, 0, 0}, {5, 0, 1}, {6, 1, 0}, {7, 1, 1}};

TEST(Affinity, NoneBindsNoRank) { EXPECT_EQ(plan_affinity("none", 2, 1, server), (Plan{{}, {}})); }

TEST(Affinity, CompactTakesCoresInOrder) {
  EXPECT_EQ(plan_affinity("compact", 3, 2, server), (Plan{{0, 1}, {2, 3}, {4, 5}}));
}

TEST(Affinity, ScatterTakesOtherPackagesThenOtherCoresThenOtherThreads) {
  EXPECT_EQ(plan_affinity("scatter", 8, 1, server), (Plan{{0}, {2}, {1}, {3}, {4}, {6}, {5}, {7}}));
}

TEST(Affinity, AListIsUsedInOrderAndRepeated) {
  EXPECT_EQ(plan_affinity("0,1,2,4", 5, 1, server), (Plan{{0}, {1}, {2}, {4}, {0}}));
}

TEST(Affinity, WrongListsAreRefusedWithAReason) {
  for (const char* list : {"", "0,", "a", "0,,1", "-1", "9999999", "compakt"})
    EXPECT_THROW(plan_affinity(list, 1, 1, server), UserError) << list;
  try {
    plan_affinity("0,123", 1, 1, server);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("core 123 does not exist"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("0,1,2,3,4,5,6,7"), std::string::npos);
  }
}

TEST(Affinity, TheMapHasOneRowPerRankAndOneColumnPerCore) {
  EXPECT_EQ(affinity_map({{0}, {1}}, {{0, 0, 0}, {1, 0, 1}}),
            "core       0   1\nrank 0     ■   ·\nrank 1     ·   ■\n");
}

TEST(Affinity, BindsToACoreOfThisMachine) {
  ASSERT_FALSE(allowed_cores().empty());
  bind_to({allowed_cores()[0].id});
}

}  // namespace
}  // namespace lockstep
