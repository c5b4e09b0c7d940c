#include "data/data_testing.h"
#include "data/gzip_testing.h"
#include "fuzz_target.h"
#include "read_all.h"

namespace lockstep {
namespace {

// Images, then labels.
void read(const std::string& input) {
  const std::vector<std::string> files = files_of(input, 2);
  DataConfig config;
  config.name = "idx";
  config.path =
      scratch_file("images", files[0]).string() + "," + scratch_file("labels", files[1]).string();
  read_all(load_data(config, 1, [](const std::string&) {}));
}

std::vector<std::string> seeds() {
  const Content images = idx_images(3, 4, 5), labels = idx_labels({0, 9, 3});
  return {joined({text_of(images), text_of(labels)}),
          joined({text_of(gzipped(images)), text_of(gzipped(labels))})};
}

}  // namespace

FuzzTarget idx_target() { return {"idx", read, seeds}; }

}  // namespace lockstep
