// Calibrating, simulating and explaining, as a user does it. One test, since it measures once.

#include "app/process_testing.h"

namespace lockstep {
namespace {

class Simulating : public CommandLine {};

TEST_F(Simulating, PredictsExplainsAndSweeps) {
  write("c.toml",
        "about = \"two boxes\"\n[node]\ncount = 2\ncores = 2\nmemory_gb = 1\n[network]\n"
        "bandwidth_gbit = 1\nlatency_us = 50\n");
  const Arguments base = {"simulate", "iris-mlp", "--cluster", "c.toml", "--json"};
  const auto with = [&](Arguments more) {
    more.insert(more.begin(), base.begin(), base.end());
    return more;
  };
  const Json both = json(with({"--ranks", "1,4"}));
  ASSERT_EQ(both["points"].size(), 2u);
  EXPECT_TRUE(both["simulated"].get<bool>());
  for (const Json& point : both["points"]) {
    EXPECT_GT(point["step_seconds"].get<double>(), 0);
    EXPECT_LE(point["step_seconds_low"], point["step_seconds"]);
    EXPECT_GE(point["step_seconds_high"], point["step_seconds"]);
  }
  EXPECT_FALSE(both["points"][1]["cautions"].empty());  // links were not measured
  const fs::path run = folder() / "runs/iris-mlp-simulated/ranks-4";
  const Json summary = Json::parse(read_text(run / "summary.json"));
  EXPECT_TRUE(summary["simulated"].get<bool>());
  EXPECT_TRUE(summary["test_accuracy"].is_null());  // nothing was computed

  // With closed forms about the same, and with numbers an accuracy.
  const Json forms = json(with({"--ranks", "1,4", "--engine", "analytic"}));
  EXPECT_NEAR(forms["points"][0]["step_seconds"].get<double>() /
                  both["points"][0]["step_seconds"].get<double>(),
              1, 1e-6);
  const Json numbers = json(with({"--ranks", "2", "--numerics", "--out", "n", "--quiet"}));
  EXPECT_GT(numbers["runs"][0]["test_accuracy"].get<double>(), 0.5);

  const Json why = json({"explain", run.string(), "--cluster", "c.toml", "--json"});
  EXPECT_GE(why["changes"].size(), 5u);

  const Arguments sweep = with({"--sweep", "--limit", "nodes=1", "--quiet"});
  const Json best = json(sweep);
  ASSERT_FALSE(best["best_first"].empty());
  for (const Json& way : best["best_first"]) EXPECT_EQ(way["nodes"], 1);
  EXPECT_EQ(json(sweep), best);  // from what the first one left

  EXPECT_EQ(lockstep({"report", run.string(), "-o", "r.md"}).code, 0);

  // Points of a study of cross-validations are simulated as such.
  write("s.toml",
        "title = \"T\"\nverb = \"crossval\"\nconfig = \"iris-mlp\"\n"
        "simulate_on = \"c.toml\"\nsimulate_beyond = 1\n"
        "columns = [\"fold_accuracy\", \"total_seconds\"]\n"
        "[set]\ntrain.epochs = 2\ncrossval.folds = 3\n[grid]\nparallel.ranks = [1, 2]\n");
  ASSERT_EQ(lockstep({"study", "s.toml", "--quiet", "--out", "st"}).code, 0);
  const Json real = Json::parse(read_text(folder() / "st/points/ranks=1/run-0/summary.json"));
  const Json virtual_ranks =
      Json::parse(read_text(folder() / "st/points/ranks=2/run-0/summary.json"));
  EXPECT_FALSE(real.contains("simulated"));
  EXPECT_TRUE(virtual_ranks["simulated"].get<bool>());
  EXPECT_EQ(virtual_ranks["folds"], 3);
  EXPECT_EQ(virtual_ranks["fold_accuracy"], real["fold_accuracy"]);
}

TEST_F(Simulating, SaysWhatIsWrong) {
  const auto says = [&](const Arguments& words, const std::vector<std::string>& parts) {
    const Ended ended = lockstep(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    expect_says(ended.err, parts);
  };
  write("bad.toml", "[node]\ncount = -1\n");
  write("p.json", "{\"lockstep_profile\": 99}");
  says({"simulate"}, {"name what to simulate"});
  says({"simulate", "iris-mlp", "--profile", "p.json"}, {"version 99"});
  says({"explain", "nowhere"}, {"has no config.toml"});
  write("none.json", "{}");
  says({"simulate", "iris-mlp", "--profile", "none.json"}, {"is not a profile"});
}

}  // namespace
}  // namespace lockstep
