// Trains a small CNN on two ranks (threads of this program) and prints its test accuracy.
#include <lockstep/lockstep.h>

#include <iostream>

int main(int count, char** words) try {
  const std::string folder = count > 1 ? words[1] : "runs/train-cnn";
  const lockstep::RunConfig config = lockstep::find_config(
      "simple-cnn", {"data.name=mnist-sample", "train.epochs=4", "parallel.ranks=2",
                     "parallel.backend=threads", "parallel.batch=global"});
  const auto trained = lockstep::train(config, {.out = folder, .force = true});
  std::cout << "test accuracy " << trained->summary.test->accuracy << ", "
            << trained->summary.samples_per_second << " samples/s; saved in "
            << trained->folder.string() << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
