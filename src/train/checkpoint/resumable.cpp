#include "train/checkpoint/resumable.h"

#include <map>

#include "base/error.h"

namespace lockstep {
namespace {

std::string text_of(const TomlValue& value) {
  struct Text {
    std::string operator()(const std::string& text) const { return toml_string(text); }
    std::string operator()(const std::vector<std::string>& list) const {
      return fmt::format("[{}]", fmt::join(list, "; "));
    }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
  };
  return std::visit(Text{}, value.data);
}

std::map<std::string, TomlValue> values_of(const std::string& configuration) {
  const TomlValues values = parse_toml(configuration, "the configuration in the checkpoint");
  return {values.begin(), values.end()};
}

}  // namespace

// A key that is newer than the checkpoint counts as its default. Checkpoints of earlier versions
// have the number of ranks among the settings; now it is compared by ReplicaCheckpoint.
void expect_resumable(const std::string& before, const RunConfig& now) {
  std::map<std::string, TomlValue> was = values_of(before);
  was.erase("parallel.ranks");
  was.merge(values_of(lasting_toml({})));
  for (const auto& [key, value] : values_of(lasting_toml(now)))
    if (const TomlValue& old = was.at(key); old.data != value.data)
      throw UserError(
          "a run cannot be resumed with another configuration: it had '{} = {}', now '{} = {}'; "
          "keep the old value, or start a new run",
          key, text_of(old), key, text_of(value));
}

}  // namespace lockstep
