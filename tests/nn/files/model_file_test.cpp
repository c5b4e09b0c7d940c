// Saved weights can be loaded into the same network and into no other.

#include "nn/files/model_file.h"

#include "base/error.h"
#include "data/data_testing.h"
#include "nn/files/safetensors.h"
#include "os/full_disk.h"

namespace lockstep {
namespace {

class ModelFile : public InFolder {
 protected:
  fs::path path() const { return folder() / "model.safetensors"; }

  Parameters saved(const std::vector<std::string>& lines, const Shape& in) {
    Parameters parameters{Network(lines, in)};
    parameters.initialise(Init::pytorch, 5);
    write_file(path(), model_bytes(parameters, "{}"));
    return parameters;
  }
  std::string error_into(const std::vector<std::string>& lines, const Shape& in) {
    Parameters parameters{Network(lines, in)};
    return error_of<UserError>([&] { take_tensors(read_safetensors(path()), path(), parameters); });
  }
};

TEST_F(ModelFile, WeightsAndStatisticsComeBack) {
  const std::vector<std::string> lines = {"conv 3 3x2", "batchnorm relu", "residual(conv 3 1x1)",
                                          "dense 4"};
  const Parameters before = saved(lines, {5, 6, 2});
  Parameters after{Network(lines, {5, 6, 2})};
  take_tensors(read_safetensors(path()), path(), after);
  EXPECT_TRUE(
      std::equal(before.weights().begin(), before.weights().end(), after.weights().begin()));
  EXPECT_TRUE(std::equal(before.state().begin(), before.state().end(), after.state().begin()));
}

TEST_F(ModelFile, HoldsPyTorchsNamesAndShapes) {
  saved({"conv 3 3x2", "batchnorm", "dense 4"}, {5, 6, 2});
  std::vector<std::string> found;
  for (const NamedTensor& t : read_safetensors(path()).tensors)
    found.push_back(fmt::format("{} {}", t.name, fmt::join(t.shape, "x")));
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::string>{"batchnorm1.bias 3", "batchnorm1.running_mean 3",
                                             "batchnorm1.running_var 3", "batchnorm1.weight 3",
                                             "conv1.bias 3", "conv1.weight 3x2x3x2",
                                             "dense1.bias 4", "dense1.weight 4x45"}));
}

TEST_F(ModelFile, OfAWiderNetworkIsRefused) {
  saved({"dense 8 relu", "dense 3"}, {4});
  expect_says(error_into({"dense 9 relu", "dense 3"}, {4}),
              {"dense1.", "8", "9", "another network"});
}

TEST_F(ModelFile, OfADeeperNetworkIsRefused) {
  saved({"dense 4", "dense 4", "dense 3"}, {4});
  expect_says(error_into({"dense 4", "dense 4"}, {4}), {"another network"});
  saved({"dense 4", "dense 4"}, {4});
  expect_says(error_into({"dense 4", "dense 4", "dense 4"}, {4}), {"lacks tensor 'dense3.bias'"});
}

TEST_F(ModelFile, OfAnotherInputIsRefused) {
  saved({"dense 3"}, {28, 28, 1});
  expect_says(error_into({"dense 3"}, {32, 32, 1}), {"dense1.weight", "3x784", "3x1024"});
}

TEST_F(ModelFile, KeepsItsOldContentWhenItCannotBeWritten) {
  Parameters parameters = saved({"dense 3"}, {4});
  const Content old = read_bytes(path());
  {
    const FullDisk full;
    expect_says(error_of<Failure>([&] { write_file(path(), model_bytes(parameters, "{}")); }),
                {path().string(), "File too large"});
  }
  EXPECT_EQ(read_bytes(path()), old);
  EXPECT_FALSE(fs::exists(fs::symlink_status(path().string() + ".new")));
}

}  // namespace
}  // namespace lockstep
