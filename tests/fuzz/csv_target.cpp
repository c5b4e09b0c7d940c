#include "data/load.h"
#include "fuzz_target.h"
#include "read_all.h"

namespace lockstep {
namespace {

void read(const std::string& input) {
  DataConfig config;
  config.name = "csv";
  config.path = scratch_file("table.csv", input);
  config.label = "species";
  config.normalize = Normalize::standardize;
  config.test = 0.2;
  config.stratified = input.size() % 2 == 0;
  read_all(load_data(config, 1, [](const std::string&) {}));
}

std::vector<std::string> seeds() {
  const std::string iris = repository_file("data/iris.csv");
  return {iris, "\xEF\xBB\xBF\"species\",a\r\n\"x, \"\"y\"\"\nz\",1e-3\r\n2,-0.5\r\n2,+7\r\n",
          "a,species\n1,10\n2,9\n3,9\n4,10\n5,10\n"};
}

}  // namespace

FuzzTarget csv_target() { return {"csv", read, seeds}; }

}  // namespace lockstep
