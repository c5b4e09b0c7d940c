#include "report/run_record.h"

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/statistics.h"
#include "base/strict_json.h"
#include "base/toml.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int deepest_summary = 20;

// Reads keys of a JSON object. Throws a UserError that names a key of the wrong type.
class Keys {
 public:
  Keys(const Json& json, std::string where, std::string prefix = "")
      : json_(json), where_(std::move(where)), prefix_(std::move(prefix)) {}

  std::optional<double> number(const char* key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_number()) fail(key, *value, "a number");
    return value->get<double>();
  }
  std::string text(const char* key) const {
    const Json* value = find(key);
    if (!value) return "";
    if (!value->is_string()) fail(key, *value, "text");
    return value->get<std::string>();
  }
  bool flag(const char* key) const {
    const Json* value = find(key);
    if (!value) return false;
    if (!value->is_boolean()) fail(key, *value, "true or false");
    return value->get<bool>();
  }
  std::optional<Keys> object(const char* key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_object()) fail(key, *value, "an object");
    return Keys(*value, where_, prefix_ + key + ".");
  }
  int64_t count(const char* key, int64_t otherwise) const {
    const auto value = number(key);
    if (!value) return otherwise;
    if (!(*value >= 1 && *value <= 1e9) || *value != std::floor(*value))
      fail(key, *find(key), "a whole number from 1 on");
    return static_cast<int64_t>(*value);
  }

 private:
  // null stands for an unknown value.
  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  [[noreturn]] void fail(const char* key, const Json& value, const char* expected) const {
    std::string shown = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (shown.size() > 40) shown = shown.substr(0, 40) + "...";
    throw UserError("{} is damaged: {}{} is {}; {} was expected", where_, prefix_, key, shown,
                    expected);
  }

  const Json& json_;
  std::string where_, prefix_;
};

// Adds the batch sizes and the learning rate of config.toml. `training`: number of ranks that train
// together, parameter servers included.
void add_settings(const fs::path& path, int64_t training, RunRecord& record) {
  std::map<std::string, TomlValue> keys;
  for (const auto& [key, value] : parse_toml(record.config, path.string()))
    keys.insert_or_assign(key, value);
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto found = keys.find(key);
    if (found == keys.end()) return std::nullopt;
    if (const auto* whole = std::get_if<int64_t>(&found->second.data))
      return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&found->second.data)) return *real;
    throw UserError("{}: {} is {}; a number was expected", found->second.where, key,
                    found->second.type());
  };
  const auto is = [&](const char* key, const decltype(TomlValue::data)& value) {
    const auto found = keys.find(key);
    return found != keys.end() && found->second.data == value;
  };
  if (is("parallel.strategy", std::string("parameter-server")))
    training = std::max<int64_t>(
        1, training - static_cast<int64_t>(number("parallel.servers").value_or(1)));
  // Replicas of the network; with a pipeline each is on several ranks.
  const double ranks = static_cast<double>(training) / number("parallel.pipeline").value_or(1);
  if (const auto rate = number("optimizer.lr"))
    record.learning_rate = *rate * (is("schedule.scale_with_ranks", true) ? ranks : 1);
  record.full_batch = is("train.batch", std::string("full"));
  if (!record.global_batch && !record.full_batch)
    if (const auto batch = number("train.batch"))
      record.global_batch = *batch * number("train.accumulate").value_or(1) *
                            (is("parallel.batch", std::string("global")) ? 1 : ranks);
  if (record.global_batch) record.batch_per_rank = *record.global_batch / ranks;
}

}  // namespace

std::string RunRecord::shown_name() const {
  return kind == RunKind::measured ? name : fmt::format("{} ({})", name, kind_name(kind));
}

RunRecord read_run_record(const fs::path& folder) {
  const fs::path file = folder / "summary.json", config = folder / "config.toml";
  if (!fs::is_regular_file(file))
    throw UserError("{} has no summary.json: not a run folder, or a run that has not ended",
                    folder.string());
  RunRecord record{.name = fs::canonical(folder).filename().string(), .path = folder};
  try {
    record.summary = parse_object<Json>(read_text(file), file.string(), deepest_summary);
  } catch (const UserError& error) {
    throw UserError("{} is damaged: {}", folder.string(), error.what());
  }
  const Keys keys(record.summary, file.string());
  record.data = keys.text("data");
  record.device = keys.text("device");
  record.versions = keys.text("versions");
  record.epochs = keys.number("epochs");
  record.test_accuracy = keys.number("test_accuracy");
  record.test_loss = keys.number("test_loss");
  record.samples_per_second = keys.number("samples_per_second");
  record.total_seconds = keys.number("total_seconds");
  record.ranks = keys.count("ranks", 1);  // set by cross-validations
  const int64_t groups = keys.count("groups", 1);
  bool oversubscribed = keys.flag("oversubscribed"), emulated = false;
  if (const auto parallel = keys.object("parallel")) {
    record.ranks = parallel->count("ranks", 1);
    record.global_batch = parallel->number("global_batch");
    record.diagnosis = parallel->text("diagnosis");
    oversubscribed = oversubscribed || parallel->flag("oversubscribed");
    emulated = parallel->flag("emulated_hosts");
    for (const char* share :
         {"computing_share", "exposed_communication_share", "waiting_share", "loading_share"})
      record.shares.push_back(parallel->number(share).value_or(0));
  }
  record.kind = keys.flag("simulated") ? RunKind::simulated
                : oversubscribed       ? RunKind::oversubscribed
                : emulated             ? RunKind::emulated
                                       : RunKind::measured;
  if (fs::is_regular_file(config)) {
    record.config = read_text(config);
    add_settings(config, std::max<int64_t>(1, record.ranks / groups), record);
  }
  return record;
}

std::optional<double> figure_of(const Json& summary, const std::string& column) {
  const Json* at = &summary;
  for (size_t from = 0; from <= column.size();) {
    const size_t dot = std::min(column.find('.', from), column.size());
    const std::string name = column.substr(from, dot - from);
    if (!at->is_object() || !at->contains(name)) return std::nullopt;
    at = &(*at)[name];
    from = dot + 1;
  }
  if (at->is_number()) return at->get<double>();
  if (!at->is_array()) return std::nullopt;
  std::vector<double> numbers;
  for (const Json& item : *at)
    if (item.is_number()) numbers.push_back(item.get<double>());
  if (numbers.empty()) return std::nullopt;
  return median(numbers);
}

}  // namespace lockstep
