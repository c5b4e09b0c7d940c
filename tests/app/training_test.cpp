// train, eval and predict, and Ctrl-C while training.

#include <cmath>

#include "app/process_testing.h"
#include "data/datasets/image_dataset.h"
#include "data/formats/image.h"
#include "data/sources/registry.h"

namespace lockstep {
namespace {

constexpr const char* digits = R"(
name = "digits"
[model]
layers = ["conv 4 3x3 relu", "maxpool 2", "dense 24 relu", "dense 10"]
[data]
name = "mnist-sample"
[train]
epochs = 1
batch = 32
[optimizer]
lr = 0.003
)";

class TrainingDigits : public CommandLine {
 protected:
  TrainingDigits() { write("digits.toml", digits); }

  Json trained(const Arguments& more = {}) {
    Arguments arguments = {"train", "digits.toml", "--out", "run", "--json", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json(arguments);
  }

  // Writes test sample `row` as an image and returns its label.
  int32_t write_digit(const std::string& name, int64_t row) {
    DataConfig config;
    config.name = "mnist-sample";
    const SourceData data = find_source(config.name)
                                .load(
                                    config, [](const std::string&) {}, nullptr);
    const auto& images = dynamic_cast<const ImageDataset&>(*data.samples);
    const auto pixels = images.pixels(data.train_rows + row);
    write_png(folder() / name, {images.sample_shape(), {pixels.begin(), pixels.end()}});
    return images.label(data.train_rows + row);
  }
};

TEST_F(TrainingDigits, WritesARunFolder) {
  const Json summary = trained();
  EXPECT_EQ(summary["ending"], "finished");
  EXPECT_GT(summary["test_accuracy"], 0.6);
  EXPECT_EQ(Json::parse(read_text(folder() / "run/summary.json")), summary);
  EXPECT_GT(summary["read_seconds"], 0);
  for (const char* file : {"config.toml", "metrics.jsonl", "model/model.safetensors"})
    EXPECT_TRUE(fs::exists(folder() / "run" / file)) << file;
}

TEST_F(TrainingDigits, FromARunFolderGivesTheSameBits) {
  trained();
  EXPECT_EQ(lockstep({"train", "run", "--out", "again", "--quiet", "--threads", "2"}).code, 0);
  EXPECT_EQ(read_bytes(folder() / "run/model/model.safetensors"),
            read_bytes(folder() / "again/model/model.safetensors"));
}

TEST_F(TrainingDigits, PrintsATableToStdoutAndProgressToStderr) {
  const Ended ended = lockstep({"train", "digits.toml"});
  EXPECT_EQ(ended.code, 0);
  expect_says(ended.out, {"digits", "parameters", "test loss / accuracy", "runs/digits"});
  expect_says(ended.err, {"epoch 1/1", "2,000 training samples"});
  EXPECT_EQ(ended.err.find('\033'), std::string::npos) << "colours, but not to a terminal";
}

TEST_F(TrainingDigits, CanBeEvaluated) {
  const Json summary = trained();
  const Json test = json({"eval", "run", "--json"});
  EXPECT_NEAR(test["loss"].get<double>(), summary["test_loss"].get<double>(), 1e-5);
  EXPECT_NEAR(test["accuracy"].get<double>(), summary["test_accuracy"].get<double>(), 1e-9);
  EXPECT_EQ(test["samples"], 500);
  EXPECT_EQ(json({"eval", "run", "--split", "train", "--json"})["samples"], 2000);
  expect_says(lockstep({"eval", "run"}).out, {"accuracy", "mnist-sample"});
  const Ended none = lockstep({"eval", "run", "--split", "validation"});
  EXPECT_EQ(none.code, 2);
  expect_says(none.err, {"no validation part"});
  const Ended other = lockstep({"eval", "run", "--data", "iris", "--split", "train"});
  EXPECT_EQ(other.code, 2);
}

TEST_F(TrainingDigits, PredictsTheClassOfAnImage) {
  trained({"--set", "train.epochs=3"});
  int right = 0;
  for (int64_t row = 0; row < 5; ++row) {
    const int32_t label = write_digit("digit.png", row);
    const Json answer = json({"predict", "run", "digit.png", "--json"})[0];
    right += answer["class"] == std::to_string(label);
    double sum = 0;
    for (const Json& share : answer["shares"]) sum += share.get<double>();
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(answer["shares"].size(), 10u);
  }
  EXPECT_GE(right, 4);
  expect_says(lockstep({"predict", "run", "digit.png"}).out, {"digit.png", "class", "%"});
  EXPECT_EQ(lockstep({"predict", "run", "none.png"}).code, 2);
  EXPECT_EQ(lockstep({"predict", "run"}).code, 2);
  write("text.png", "not a picture");
  EXPECT_EQ(lockstep({"predict", "run", "text.png"}).code, 2);
}

TEST_F(TrainingDigits, WritesLogitsForNumpy) {
  const Json summary = trained();
  const Json answer =
      json({"predict", "run", "--data", "mnist-sample", "--logits", "out.npy", "--json"});
  EXPECT_NEAR(answer["accuracy"].get<double>(), summary["test_accuracy"].get<double>(), 1e-9);
  const std::string npy = read_text(folder() / "out.npy");
  ASSERT_TRUE(npy.starts_with(std::string("\x93NUMPY\x01\x00", 8)));
  const size_t length = static_cast<uint8_t>(npy[8]) + 256u * static_cast<uint8_t>(npy[9]);
  EXPECT_EQ((10 + length) % 64, 0u);
  const std::string header = npy.substr(10, length);
  EXPECT_EQ(header.back(), '\n');
  expect_says(header, {"'descr': '<f4'", "'fortran_order': False", "'shape': (500, 10)"});
  EXPECT_EQ(npy.size(), 10 + length + 500 * 10 * sizeof(float));
}

TEST_F(TrainingDigits, DivergenceIsAFailureThatKeepsAModel) {
  const Ended ended = lockstep({"train", "digits.toml", "--out", "run", "--quiet", "--set",
                                "optimizer.lr=1e18", "--set", "optimizer.name=sgd"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  expect_says(ended.err, {"diverged at step", "optimizer.lr"});
  EXPECT_TRUE(std::isfinite(json({"eval", "run", "--json"})["loss"].get<double>()));
}

TEST_F(TrainingDigits, EndsOnCtrlCWithEverythingSaved) {
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove_all(folder() / "run");
    Process process(program({"train", "digits.toml", "--out", "run", "--json", "--set",
                             "train.epochs=1000000", "--set", "train.log_every=1"}),
                    folder());
    const fs::path metrics = folder() / "run/metrics.jsonl";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!fs::exists(metrics) || fs::file_size(metrics) == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "training did not start";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    process.signal(signal);
    const Ended ended = process.wait(std::chrono::seconds(10));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(Json::parse(ended.out)["ending"], "interrupted");
    EXPECT_EQ(Json::parse(read_text(folder() / "run/summary.json"))["ending"], "interrupted");
    EXPECT_EQ(json({"eval", "run", "--json"})["samples"], 500);
  }
}

TEST_F(TrainingDigits, AFullDiskIsAFailure) {
  const Ended ended =
      shell("trap '' XFSZ; ulimit -f 8; lockstep train digits.toml --out run --quiet");
  EXPECT_EQ(ended.code, 1);
  expect_says(ended.err, {"cannot write run/", "File too large"});
  EXPECT_FALSE(fs::exists(folder() / "run/summary.json"));
}

}  // namespace
}  // namespace lockstep
