#include "data/sources/source.h"

#include "base/error.h"
#include "base/with_commas.h"

namespace lockstep {

std::string size_text(const SourceData& data) {
  std::string text = with_commas(data.train_rows);
  if (data.test_rows() > 0) text += " + " + with_commas(data.test_rows());
  return text;
}

std::string own_files_text(const DataConfig& config, const SourceData& data) {
  return fmt::format("{} (as {}, {})", config.path, config.name, size_text(data));
}

void expect_no_path(const DataConfig& config, const std::string& source_of_own_data) {
  if (!config.path.empty())
    throw UserError(
        "data.name = '{}' is shipped with the program and takes no data.path ('{}'); for your own "
        "files set data.name = '{}'",
        config.name, config.path, source_of_own_data);
}

std::string required_path(const DataConfig& config, const std::string& expected) {
  if (config.path.empty())
    throw UserError("data.name = '{}' needs data.path: {}", config.name, expected);
  return config.path;
}

}  // namespace lockstep
