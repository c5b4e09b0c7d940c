#include "base/error.h"
#include "data/sources/idx_parts.h"

namespace lockstep {

SourceData load_idx(const DataConfig& config, const Say&, const OwnPart* own) {
  const std::string path = required_path(
      config,
      "a folder with train-images-idx3-ubyte and train-labels-idx1-ubyte, or IMAGES,LABELS");
  const size_t comma = path.find(',');
  SourceData data;
  if (fs::is_directory(path)) {
    data = read_idx_parts(train_part(path), test_part(path), {}, own, config.loading_threads());
  } else if (comma != std::string::npos) {
    data = read_idx_parts({path.substr(0, comma), path.substr(comma + 1)}, std::nullopt, {}, own,
                          config.loading_threads());
  } else {
    throw UserError(
        "data.path = '{}' is not a folder; expected one, or the images file and the "
        "labels file separated by a comma",
        path);
  }
  data.provenance = "idx: " + path + " (" + size_text(data) + ")";
  return data;
}

}  // namespace lockstep
