// The presets, as the program shows them.

#include <fstream>
#include <map>

#include "app/process_testing.h"

namespace lockstep {
namespace {

class Presets : public CommandLine {};

TEST_F(Presets, HaveTheExpectedNumbersOfParameters) {
  const std::map<std::string, int64_t> expected = {
      {"cnn-690k", 690'590},
      {"simple-cnn", 320 + 18'496 + 401'536 + 8'256 + 650},
      {"mnist-cnn-sgd", 320 + 18'496 + 401'536 + 8'256 + 650},
      {"iris-mlp", 250 + 153},
      {"iris-mlp-small-batch", 250 + 153},
      {"mlp-1", 401'920 + 5'130},
      {"tweets-mlp-1", 16384 * 512 + 512 + 512 * 419 + 419},
      {"tweets-mlp-3", 16384 * 512 + 512 + 512 * 256 + 256 + 256 * 256 + 256 + 256 * 419 + 419},
      {"mlp-3", 401'920 + 131'328 + 32'896 + 1'290},
      {"fashion-mlp-full-batch", 200'960 + 32'896 + 1'290},
      {"fashion-mlp", 200'960 + 32'896 + 1'290},
      {"fashion-mlp-adam", 200'960 + 32'896 + 1'290},
      {"gpt2", 124'439'808},
      {"gpt2-medium", 354'823'168},
      {"gpt2-large", 774'030'080},
      {"gpt2-xl", 1'557'611'200},
      {"gpt2-problems", 842'496},
      {"gpt2-shakespeare", 834'304}};
  std::map<std::string, int64_t> found;
  for (const Json& preset : json({"models", "--json"}))
    if (preset.contains("parameters")) found[preset["name"]] = preset["parameters"];
  EXPECT_EQ(found, expected);
}

TEST_F(Presets, TheCnnOfTheStudyIsCountedLayerByLayer) {
  std::vector<int64_t> counts;
  const Json model = json({"models", "cnn-690k", "--json"});
  for (const Json& layer : model["layers"])
    if (layer["parameters"] > 0) counts.push_back(layer["parameters"]);
  EXPECT_EQ(counts, (std::vector<int64_t>{320, 36'992, 295'168, 257'000, 100'100, 1'010}));
  expect_says(lockstep({"models", "cnn-690k"}).out, {"conv1", "26x26x32", "36,992", "690,590"});
}

TEST_F(Presets, ModelsDescribesAnyConfiguration) {
  write("my.toml", "[model]\nlayers = [\"conv 8 3x3\", \"dense 4\"]\n[data]\nname = \"images\"\n");
  const Json model = json({"models", "my.toml", "--input", "10x12x3", "--json"});
  EXPECT_EQ(model["parameters"], 8 * 27 + 8 + 8 * 10 * 8 * 4 + 4);
  EXPECT_EQ(lockstep({"models", "my.toml"}).code, 2);
  EXPECT_EQ(lockstep({"models", "my.toml", "--input", "10by12"}).code, 2);
}

TEST_F(Presets, APrintedConfigurationReadsBackUnchanged) {
  const Ended preset = lockstep({"config", "cnn-690k"});
  EXPECT_EQ(preset.code, 0);
  write("my.toml", preset.out);
  EXPECT_EQ(lockstep({"config", "my.toml"}).out, preset.out);
  const Ended changed = lockstep({"config", "my.toml", "--set", "train.epochs=77"});
  expect_says(changed.out, {"epochs = 77"});
}

TEST_F(Presets, TheReferenceListsEveryKeyAndLayer) {
  expect_says(
      lockstep({"config", "--reference"}).out,
      {"`train.epochs`", "`optimizer.lr`", "`device.threads`", "`dense OUTPUTS", "residual("});
}

TEST_F(Presets, TheConfigurationReferenceIsUpToDate) {
  std::ifstream file(fs::path(LOCKSTEP_TESTS_FOLDER) / "../docs/configuration.md");
  const std::string saved(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(lockstep({"config", "--reference"}).out, saved)
      << "write it again: build/lockstep config --reference > docs/configuration.md";
}

}  // namespace
}  // namespace lockstep
