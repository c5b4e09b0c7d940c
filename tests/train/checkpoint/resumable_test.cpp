#include "train/checkpoint/resumable.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "config/settings.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

// Another value of a setting.
struct Change {
  void operator()(std::string* value) const { *value += "x"; }
  void operator()(int64_t* value) const { *value += 1; }
  void operator()(int* value) const { *value += 1; }
  void operator()(double* value) const { *value += 0.25; }
  void operator()(bool* value) const { *value = !*value; }
  void operator()(std::vector<std::string>* value) const { value->emplace_back("x"); }
  void operator()(const EnumTarget& target) const {
    const std::string before = target.text(target.value);
    for (const std::string& other : choices)
      if (other != before && target.set(target.value, other)) return;
    FAIL() << "one choice only";
  }
  const std::vector<std::string>& choices;
};

TEST(Resuming, AllowsChangesOfLengthLoggingAndPlaceOnly) {
  const std::set<std::string> may_change = {
      "name",
      "description",
      "train.epochs",
      "train.steps",
      "train.early_stopping",
      "train.until",
      "train.eval_every",
      "train.log_every",
      "train.checkpoint_every",
      "train.keep_checkpoints",
      "data.workers",
      "device.threads",
      "parallel.backend",
      "parallel.ranks",
      "parallel.pipeline",
      "parallel.schedule",
      "parallel.chunks",
      "parallel.micro_batches",
      "parallel.affinity",
      "parallel.timeout",
      "crossval.groups",
      "report.tensorboard",
  };
  const std::string before = lasting_toml({});
  for (const Setting& setting : settings()) {
    RunConfig now;
    std::visit(Change{setting.choices}, setting.target(now));
    std::string refused;
    try {
      expect_resumable(before, now);
    } catch (const UserError& error) {
      refused = error.what();
    }
    EXPECT_EQ(refused.empty(), may_change.contains(setting.key)) << setting.key;
    if (!refused.empty()) {
      EXPECT_NE(refused.find("'" + setting.key + " = "), std::string::npos) << refused;
    }
  }
}

TEST(Resuming, NamesTheOldAndTheNewValue) {
  RunConfig before, now;
  before.optimizer.lr = 0.5;
  now.optimizer.lr = 0.25;
  expect_says(error_of<UserError>([&] { expect_resumable(lasting_toml(before), now); }),
              {"'optimizer.lr = 0.5'", "'optimizer.lr = 0.25'"});
}

TEST(Resuming, AKeyThatTheCheckpointDoesNotKnowIsItsDefault) {
  std::string before = lasting_toml({});
  const size_t begin = before.find("lr = ");
  ASSERT_NE(begin, std::string::npos);
  before.erase(begin, before.find('\n', begin) + 1 - begin);
  EXPECT_NO_THROW(expect_resumable(before, {}));
  RunConfig other;
  other.optimizer.lr = 0.25;
  expect_says(error_of<UserError>([&] { expect_resumable(before, other); }), {"optimizer.lr"});
}

}  // namespace
}  // namespace lockstep
