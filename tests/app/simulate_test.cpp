// Calibrating, simulating and explaining. Few tests, since each one measures the machine.

#include "app/process_testing.h"

namespace lockstep {
namespace {

class Simulating : public CommandLine {
 protected:
  // Measuring takes longer on a busy machine.
  Ended lockstep(const Arguments& arguments) {
    return Process(program(arguments), folder()).wait(std::chrono::seconds(180));
  }
  Json json(const Arguments& arguments) {
    const Ended ended = lockstep(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return Json::parse(ended.out);
  }
};

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

  // Closed forms predict the same for one rank; --numerics adds an accuracy.
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
  EXPECT_EQ(json(sweep), best);

  EXPECT_EQ(lockstep({"report", run.string(), "-o", "r.md"}).code, 0);

  // Points of a cross-validation study are simulated as cross-validations.
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

TEST_F(Simulating, NamesItsBaselineAndLabelsUncertainPredictions) {
  write("c.toml",
        "about = \"a box\"\n[node]\ncount = 1\ncores = 4\nmemory_gb = 1\n[network]\n"
        "bandwidth_gbit = 1\nlatency_us = 50\n");
  const Arguments base = {"simulate", "iris-mlp-small-batch", "--cluster", "c.toml", "--quiet"};
  const auto with = [&](Arguments more) {
    more.insert(more.begin(), base.begin(), base.end());
    return more;
  };
  // Points keep the order of --ranks; one rank is simulated as the baseline.
  const Json asked = json(with({"--ranks", "4,1,2", "--json"}));
  ASSERT_EQ(asked["points"].size(), 3u);
  EXPECT_EQ(asked["points"][0]["ranks"], 4);
  EXPECT_EQ(asked["points"][1]["ranks"], 1);
  EXPECT_EQ(asked["points"][2]["ranks"], 2);
  EXPECT_EQ(asked["baseline"]["step_seconds"], asked["points"][1]["step_seconds"]);
  const Json alone = json(with({"--ranks", "4", "--json"}));
  ASSERT_EQ(alone["points"].size(), 1u);
  EXPECT_EQ(alone["baseline"]["ranks"], 1);
  EXPECT_EQ(alone["baseline"]["step_seconds"], asked["baseline"]["step_seconds"]);
  for (const Json& point : asked["points"]) {
    EXPECT_LE(point["undisturbed_step_seconds"], point["step_seconds"]);
    EXPECT_TRUE(point["disturbed"].is_boolean());
    EXPECT_FALSE(point["extrapolated"].get<bool>());
  }
  const Ended table = lockstep(with({"--ranks", "4"}));
  expect_says(table.out, {"speed-up over 1 rank", "undisturbed"});
  const Ended numbers = lockstep(with({"--ranks", "2", "--numerics", "--out", "n"}));
  expect_says(numbers.out, {"speed-up over 2 ranks"});

  const double apart =
      json(with({"--ranks", "2", "--affinity", "0,1", "--json"}))["points"][0]["compute_seconds"];
  const Json shared = json(with({"--ranks", "2", "--affinity", "0,0", "--json"}))["points"][0];
  EXPECT_NEAR(shared["compute_seconds"].get<double>() / apart, 2, 0.05);
  EXPECT_TRUE(shared["oversubscribed"].get<bool>());
  const Ended refused = lockstep(with({"--ranks", "2", "--affinity", "scatter"}));
  EXPECT_EQ(refused.code, 2);
  expect_says(refused.err, {"makes no difference", "node.sockets"});

  // A profile whose costs were measured on a busy machine, and whose machine has 2 cores.
  fs::path file;
  for (const auto& one : fs::directory_iterator(folder() / "no-cache/profiles")) file = one.path();
  Json profile = Json::parse(read_text(file));
  profile["cores"] = 2;
  Json networks = Json::object();
  for (const auto& [key, costs] : profile["networks"].items()) {
    networks[key] = costs;
    networks[key]["quietness"] = {{"disturbed_by", "a compiler"}, {"slowdown", 3.0}};
    const size_t thread = key.rfind("1 thread");
    networks[key.substr(0, thread) + "2 threads"] = networks[key];
  }
  profile["networks"] = networks;
  write("busy.json", profile.dump());
  const Json busy = json(with({"--ranks", "1", "--profile", "busy.json", "--json"}))["points"][0];
  EXPECT_TRUE(busy["disturbed"].get<bool>());
  expect_says(busy["cautions"][0].get<std::string>(),
              {"measured while the machine was busy", "a compiler"});
  EXPECT_LT(busy["step_seconds_low"].get<double>(),
            busy["undisturbed_step_seconds"].get<double>() / 2);
  const Json threads = json(
      with({"--ranks", "1", "--threads", "4", "--profile", "busy.json", "--json"}))["points"][0];
  EXPECT_TRUE(threads["extrapolated"].get<bool>());
  const Ended whose = lockstep(with({"--recalibrate", "--profile", "busy.json"}));
  EXPECT_EQ(whose.code, 2);
  expect_says(whose.err, {"--recalibrate measures this machine"});

  // --recalibrate replaces the stored measurement.
  const auto when = [&] {
    return Json::parse(read_text(file))["networks"].begin().value()["quietness"].dump() +
           Json::parse(read_text(file))["measured"].dump();
  };
  const std::string before = when();
  json(with({"--ranks", "1", "--recalibrate", "--json"}));
  EXPECT_NE(when(), before);
}

TEST_F(Simulating, ExplainsMistakes) {
  const auto says = [&](const Arguments& words, const std::vector<std::string>& parts) {
    const Ended ended = lockstep(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    expect_says(ended.err, parts);
  };
  write("bad.toml", "[node]\ncount = -1\n");
  write("p.json", "{\"lockstep_profile\": 99}");
  says({"simulate"}, {"name what to simulate"});
  says({"simulate", "iris-mlp", "--profile", "p.json"}, {"version 99"});
  says({"calibrate", "iris-mlp", "--threads", "1024"}, {"more threads than cores"});
  says({"explain", "nowhere"}, {"has no config.toml"});
  write("none.json", "{}");
  says({"simulate", "iris-mlp", "--profile", "none.json"}, {"is not a profile"});
}

}  // namespace
}  // namespace lockstep
