#include "report/run_record.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

class RunRecords : public InFolder {
 protected:
  RunRecord record(const std::string& summary, const std::string& config = "seed = 1\n") {
    write("run/summary.json", summary);
    write("run/config.toml", config);
    return read_run_record(folder() / "run");
  }
  std::string refused(const std::string& summary) {
    return error_of<UserError>([&] { record(summary); });
  }
};

TEST_F(RunRecords, HoldTheFiguresOfTheSummary) {
  const RunRecord r = record(R"({"name": "n", "data": "d", "device": "cpu", "total_seconds": 2.5,
    "samples_per_second": 100, "test_accuracy": 0.75, "test_loss": 0.5, "epochs": 1.5,
    "parallel": {"ranks": 4, "diagnosis": "why"}})");
  EXPECT_EQ(r.name, "run");  // of its folder
  EXPECT_EQ(r.data, "d");
  EXPECT_EQ(r.ranks, 4);
  EXPECT_EQ(r.epochs, 1.5);
  EXPECT_EQ(r.total_seconds, 2.5);
  EXPECT_EQ(r.test_accuracy, 0.75);
  EXPECT_EQ(r.test_loss, 0.5);
  EXPECT_EQ(r.samples_per_second, 100);
  EXPECT_EQ(r.diagnosis, "why");
}

TEST_F(RunRecords, KnowWhatIsSimulatedAndWhatIsOversubscribed) {
  EXPECT_EQ(record(R"({"name": "n"})").kind, RunKind::measured);
  EXPECT_EQ(record(R"({"name": "n", "simulated": true})").kind, RunKind::simulated);
  EXPECT_EQ(record(R"({"name": "n", "parallel": {"ranks": 2, "emulated_hosts": true}})").kind,
            RunKind::emulated);
  EXPECT_EQ(record(R"({"name": "n", "parallel": {"ranks": 2, "oversubscribed": true}})").kind,
            RunKind::oversubscribed);
  EXPECT_EQ(record(R"({"name": "n"})").shown_name(), "run");
  EXPECT_EQ(record(R"({"name": "n", "simulated": true})").shown_name(), "run (simulated)");
}

TEST_F(RunRecords, TakeBatchesFromTheConfiguration) {
  const std::string summary = R"({"name": "n", "parallel": {"ranks": 4}})";
  const RunRecord global =
      record(summary, "[train]\nbatch = 64\n[parallel]\nranks = 4\nbatch = \"global\"\n");
  EXPECT_EQ(global.global_batch, 64);
  EXPECT_EQ(global.batch_per_rank, 16);
  const RunRecord per_rank =
      record(summary, "[train]\nbatch = 64\n[parallel]\nranks = 4\nbatch = \"rank\"\n");
  EXPECT_EQ(per_rank.global_batch, 256);
  EXPECT_EQ(per_rank.batch_per_rank, 64);
}

TEST_F(RunRecords, WithoutAFigureHaveNone) {
  const RunRecord r = record(R"({"name": "n", "test_accuracy": null})");
  EXPECT_FALSE(r.test_accuracy);
  EXPECT_FALSE(r.total_seconds);
  EXPECT_TRUE(r.shares.empty());
}

TEST_F(RunRecords, NameTheKeyOfAWrongType) {
  expect_says(refused(R"({"data": 3})"), {"summary.json", "data", "text"});
  expect_says(refused(R"({"name": "n", "total_seconds": "long"})"), {"total_seconds", "a number"});
  expect_says(refused(R"({"name": "n", "parallel": 3})"), {"parallel", "an object"});
  expect_says(refused(R"({"name": "n", "parallel": {"ranks": 0}})"), {"parallel.ranks"});
  expect_says(refused("{"), {"summary.json"});
}

TEST_F(RunRecords, OfAFolderWithoutASummaryAreRefused) {
  write("empty/config.toml", "seed = 1\n");
  expect_says(error_of<UserError>([&] { read_run_record(folder() / "empty"); }), {"summary.json"});
}

TEST(Figures, AreFoundByTheirPath) {
  const auto summary = nlohmann::ordered_json::parse(
      R"({"a": 2, "b": {"c": [5, 1, 3]}, "text": "x", "none": null, "empty": []})");
  EXPECT_EQ(figure_of(summary, "a"), 2);
  EXPECT_EQ(figure_of(summary, "b.c"), 3);  // the median of a list
  for (const char* path : {"b", "text", "none", "empty", "a.b", "missing", "b.c.d"})
    EXPECT_FALSE(figure_of(summary, path)) << path;
}

}  // namespace
}  // namespace lockstep
