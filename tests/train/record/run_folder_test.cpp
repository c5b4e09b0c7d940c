// Files that a run writes, and errors when they cannot be written or read.

#include "train/record/run_folder.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "nn/files/safetensors.h"
#include "os/digests.h"
#include "os/full_disk.h"
#include "train/record/run_list.h"
#include "train/train_testing.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

class Runs : public InFolder {
 protected:
  fs::path path() const { return folder() / "run"; }

  // Trains, records and saves as the program does.
  Summary train_into_folder(const RunConfig& config) {
    RunFolder run(path(), config);
    Observers observers;
    const DataSplits data = load_data(config.data, static_cast<uint64_t>(config.seed));
    const auto device = make_test_device(config.device);
    const WallClock clock;
    const auto ranks = make_self_communicator();
    Trainer trainer(config, *ranks, *device, clock, data, observers);
    observers.add(run);
    const Summary summary = trainer.run(std::atomic<bool>{false});
    run.save(trainer.parameters(), trainer.network(), data);
    observers.run_ended(summary);
    weights_ = copy_of(trainer.parameters().weights_on_host());
    return summary;
  }

  std::vector<Json> metrics() const {
    std::vector<Json> lines;
    const std::string text = read_text(path() / "metrics.jsonl");
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      lines.push_back(Json::parse(text.substr(at, end - at)));
    EXPECT_EQ(lines.at(0), Json({{"run", run_of_config(read_text(path() / "config.toml"))}}));
    lines.erase(lines.begin());
    return lines;
  }

  std::vector<float> weights_;
};

TEST_F(Runs, TheSummaryHasAllFigures) {
  train_into_folder(iris_config());
  const Json summary = Json::parse(read_text(path() / "summary.json"));
  for (const char* key : {"parameters", "epochs", "train_loss", "train_accuracy", "test_loss",
                          "test_accuracy", "read_seconds", "gradient_seconds", "total_seconds",
                          "samples_per_second", "peak_memory_bytes", "seed"}) {
    ASSERT_TRUE(summary.contains(key)) << key;
    EXPECT_TRUE(summary[key].is_number()) << key;
  }
  EXPECT_EQ(summary["epoch_seconds"].size(), 5u);
  EXPECT_EQ(summary["parameters"], 4 * 20 + 20 + 20 * 3 + 3);
  EXPECT_EQ(summary["epochs"], 5);
  EXPECT_EQ(summary["ending"], "finished");
  EXPECT_EQ(summary["name"], "iris-test");
  EXPECT_GT(summary["gradient_seconds"], 0);
  EXPECT_GT(summary["samples_per_second"], 0);
  EXPECT_GT(summary["peak_memory_bytes"], 1'000'000);
  EXPECT_GE(summary["total_seconds"], summary["epoch_seconds"][0]);
  for (const char* key : {"data", "device", "versions"})
    EXPECT_TRUE(summary[key].is_string()) << key;
}

TEST_F(Runs, MetricsHaveTheNamesThatToolsExpect) {
  RunConfig config = iris_config();
  config.train.log_every = 10;
  config.data.validation = 0.2;
  train_into_folder(config);
  int steps = 0, epochs = 0;
  for (const Json& line : metrics()) {
    for (const char* key :
         {"train/global_step", "train/epoch", "train/grad_norm", "train/learning_rate"})
      EXPECT_TRUE(line.contains(key)) << line.dump();
    if (line.contains("train/loss")) {
      ++steps;
      EXPECT_EQ(line["train/global_step"].get<int>() % 10, 0);
      continue;
    }
    ++epochs;
    for (const char* key : {"train/epoch_loss", "train/accuracy", "eval/loss", "eval/accuracy",
                            "eval/runtime", "eval/samples_per_second", "eval/steps_per_second"})
      EXPECT_TRUE(line.contains(key)) << line.dump();
  }
  EXPECT_EQ(epochs, 5);
  EXPECT_EQ(steps, 3);  // 96 samples: 6 steps per epoch, 30 in all
}

TEST_F(Runs, ATrainedNetworkIsLoadedAsItWasSaved) {
  const RunConfig config = iris_config();
  train_into_folder(config);
  const SavedRun run = load_run(path());
  EXPECT_EQ(to_toml(run.config), to_toml(config));
  EXPECT_EQ(run.network->lines(), config.model.layers);
  EXPECT_EQ(run.classes.size(), 3u);
  EXPECT_EQ(run.normalizer.type, Normalize::standardize);
  EXPECT_TRUE(std::equal(weights_.begin(), weights_.end(), run.parameters->weights().begin()));
}

TEST_F(Runs, AFolderThatIsNotARunIsRefused) {
  expect_says(error_of<UserError>([&] { load_run(folder()); }),
              {"not a run folder", "config.toml"});
}

TEST_F(Runs, TheModelOfAnotherNetworkIsRefused) {
  train_into_folder(iris_config());
  fs::rename(path(), folder() / "other");
  RunConfig wider = iris_config();
  wider.model.layers = {"dense 21 relu", "dense 3"};
  train_into_folder(wider);
  fs::copy_file(folder() / "other/model/model.safetensors", path() / "model/model.safetensors",
                fs::copy_options::overwrite_existing);
  expect_says(error_of<UserError>([&] { load_run(path()); }), {"model.safetensors is damaged"});
  fs::remove(digests_path(path() / "model"));
  expect_says(error_of<UserError>([&] { load_run(path()); }),
              {"another network", "dense 21 relu", "config.toml"});
}

TEST_F(Runs, AModelOfAnotherRunOfTheSameNetworkIsRefused) {
  train_into_folder(iris_config());
  fs::rename(path(), folder() / "other");
  train_into_folder(iris_config());
  fs::remove_all(path() / "model");
  fs::copy(folder() / "other/model", path() / "model");
  expect_says(error_of<UserError>([&] { load_run(path()); }),
              {"two runs have written into this folder", "config.toml", "train again"});
}

TEST_F(Runs, EveryFlippedBitOfAModelIsNoticed) {
  train_into_folder(iris_config());
  const fs::path model = path() / "model/model.safetensors";
  const std::vector<uint8_t> good = read_bytes(model);
  for (size_t bit = 3; bit < good.size() * 8; bit += 101) {
    std::vector<uint8_t> damaged = good;
    damaged[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
    write_file(model, damaged);
    EXPECT_THROW(load_run(path()), UserError) << bit;
  }
  write_file(model, good);
  EXPECT_TRUE(load_run(path()).has_digests);
}

TEST_F(Runs, OfTheFirstVersionLoadWithoutDigests) {
  train_into_folder(iris_config());
  fs::remove(digests_path(path() / "model"));
  EXPECT_FALSE(load_run(path()).has_digests);
}

TEST_F(Runs, EqualWeightsAreEqualBytes) {
  train_into_folder(iris_config());
  const std::vector<uint8_t> first = read_bytes(path() / "model/model.safetensors");
  train_into_folder(iris_config());
  EXPECT_EQ(read_bytes(path() / "model/model.safetensors"), first);
}

TEST_F(Runs, VerifyingNamesTheDamagedFile) {
  train_into_folder(iris_config());
  const auto damaged = [&] {
    std::string names;
    for (const VerifiedFile& file : verify_run(path()))
      if (file.damaged) names += file.file + " ";
    return names;
  };
  EXPECT_EQ(damaged(), "");
  const fs::path metrics = path() / "metrics.jsonl", model = path() / "model/model.safetensors";
  const std::string lines = read_text(metrics), good = read_text(model);
  write_file(metrics, "{\"run\":\"another\"}\n");
  EXPECT_EQ(damaged(), "metrics.jsonl ");
  write_file(metrics, lines + "{\"cut");
  EXPECT_EQ(damaged(), "metrics.jsonl ");
  write_file(metrics, lines);
  write_file(model, good.substr(0, good.size() - 1));
  EXPECT_EQ(damaged(), "model/model.safetensors ");
  fs::remove(model);
  EXPECT_EQ(damaged(), "model/model.safetensors ");
  write_file(model, good);
  write_file(path() / "summary.json", "{");
  EXPECT_EQ(damaged(), "summary.json ");
}

TEST_F(Runs, ADamagedDescriptionOfTheNetworkIsAUserError) {
  train_into_folder(iris_config());
  const fs::path model = path() / "model/model.safetensors";
  const TensorFile saved = read_safetensors(model);
  const Json good = Json::parse(saved.metadata.at("network"));
  fs::remove(digests_path(path() / "model"));
  const auto describe = [&](const std::string& text) {
    write_file(model, safetensors_bytes(saved.tensors, {{"network", text}}));
  };
  const auto error_with = [&](const std::string& key, const Json& value) {
    Json changed = good;
    changed[key] = value;
    describe(changed.dump());
    return error_of<UserError>([&] { load_run(path()); });
  };
  for (const char* text : {"", "{", "[]", "3", "{}"}) {
    describe(text);
    expect_says(error_of<UserError>([&] { load_run(path()); }),
                {"description of the network is damaged"});
  }
  expect_says(error_with("layers", "dense 3"), {"damaged"});
  expect_says(error_with("layers", {"densse 3"}), {"did you mean 'dense'?"});
  expect_says(error_with("input", {-4}), {"not possible"});
  expect_says(error_with("input", {2, 2}), {"neither features nor an image"});
  expect_says(error_with("input", {5}), {"does not fit samples of shape 5"});
  expect_says(error_with("classes", 3), {"damaged"});
  EXPECT_NE(error_with("normalizer", {{"type", "standardize"}, {"shift", {1}}, {"scale", {1, 2}}}),
            "no error");
}

TEST_F(Runs, AFileInPlaceOfTheFolderIsAFailure) {
  write("run", "in the way");
  expect_says(error_of<Failure>([&] { RunFolder(path(), iris_config()); }),
              {"cannot make the folder", path().string()});
}

TEST_F(Runs, AFolderThatCannotBeWrittenIsAFailure) {
  if (::geteuid() == 0) GTEST_SKIP() << "permissions do not bind root";
  make_folder(path());
  fs::permissions(path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THROW(RunFolder(path(), iris_config()), Failure);
  fs::permissions(path(), fs::perms::owner_all);
}

TEST_F(Runs, AFullDiskIsNoticedBeforeTraining) {
  const FullDisk full;
  expect_says(error_of<Failure>([&] { RunFolder(path(), iris_config()); }),
              {"config.toml", "File too large"});
}

TEST_F(Runs, AFullDiskEndsTheRunWithAFailure) {
  make_folder(path());
  ASSERT_EQ(::symlink("/dev/full", (path() / "metrics.jsonl").c_str()), 0);
  expect_says(error_of<Failure>([&] { train_into_folder(iris_config()); }),
              {"metrics.jsonl", "No space left"});
}

}  // namespace
}  // namespace lockstep
