// --json: nothing but JSON on stdout, whatever the verb.

#include "app/process_testing.h"

namespace lockstep {
namespace {

class JsonOutput : public CommandLine {};

TEST_F(JsonOutput, OfTrainIsTheSummary) {
  const Json summary = json({"train", "iris-mlp", "--json", "--set", "train.epochs=3"});
  for (const char* key : {"parameters", "epochs", "train_loss", "train_accuracy", "test_loss",
                          "test_accuracy", "read_seconds", "gradient_seconds", "epoch_seconds",
                          "total_seconds", "samples_per_second", "peak_memory_bytes"})
    EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_EQ(summary, Json::parse(read_text(folder() / "runs/iris-mlp/summary.json")));
}

TEST_F(JsonOutput, OfEvalAndPredictHoldsTheAccuracy) {
  json({"train", "iris-mlp", "--json", "--set", "train.epochs=3"});
  const Json eval = json({"eval", "runs/iris-mlp", "--json"});
  const Json predict = json({"predict", "runs/iris-mlp", "--data", "iris", "--json"});
  EXPECT_EQ(eval["accuracy"], predict["accuracy"]);
  EXPECT_EQ(eval["samples"], 30);
}

TEST_F(JsonOutput, OfDataInfoCountsTheClasses) {
  const Json info = json({"data", "info", "mnist-sample", "--json"});
  EXPECT_EQ(info["train"], 2000);
  EXPECT_EQ(info["test"], 500);
  EXPECT_EQ(info["shape"], (std::vector<int>{28, 28, 1}));
  EXPECT_EQ(info["classes"].size(), 10u);
}

TEST_F(JsonOutput, OfBenchHasTheThroughputAndEveryLayer) {
  const Json bench = json({"bench", "iris-mlp", "--seconds", "0.1", "--json"});
  EXPECT_GT(bench["samples_per_second"], 0);
  EXPECT_EQ(bench["layers"].size(), 2u);
  EXPECT_EQ(bench["layers"][0]["layer"], "dense1+relu1");
}

TEST_F(JsonOutput, IsEmptyIfTheCommandFails) {
  const Ended ended = lockstep({"train", "no-such-preset", "--json"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
}

}  // namespace
}  // namespace lockstep
