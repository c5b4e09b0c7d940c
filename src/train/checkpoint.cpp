#include "train/checkpoint.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "nn/safetensors.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

fs::path step_folder(const fs::path& folder, int64_t global_step) {
  return folder / fmt::format("step-{}", global_step);
}

// Doubles as their shortest exact text.
Json position_json(const Position& at) {
  return {{"epoch", at.epoch},
          {"step", at.step},
          {"global_step", at.global_step},
          {"epoch_loss", at.epoch_loss},
          {"epoch_correct", at.epoch_correct},
          {"epoch_samples", at.epoch_samples},
          {"best_loss", at.best_loss},
          {"best_epoch", at.best_epoch}};
}

Position position_from(const Json& json) {
  const auto number = [&](const char* key) {
    return json.at(key).is_null() ? std::nan("") : json.at(key).get<double>();
  };
  return {.epoch = json.at("epoch").get<int64_t>(),
          .step = json.at("step").get<int64_t>(),
          .global_step = json.at("global_step").get<int64_t>(),
          .epoch_loss = number("epoch_loss"),
          .epoch_correct = json.at("epoch_correct").get<int64_t>(),
          .epoch_samples = json.at("epoch_samples").get<int64_t>(),
          .best_loss = number("best_loss"),
          .best_epoch = json.at("best_epoch").get<int64_t>()};
}

}  // namespace

fs::path checkpoint_file(const fs::path& folder, int64_t global_step, int rank) {
  return step_folder(folder, global_step) / fmt::format("rank-{}.safetensors", rank);
}

void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, values] : checkpoint.arrays)
    tensors.push_back({name, {static_cast<int64_t>(values.size())}, values});
  make_folder(path.parent_path());
  write_file(path, safetensors_bytes(tensors, {{"position", position_json(checkpoint.at).dump()},
                                               {"counters", Json(checkpoint.counters).dump()}}));
}

Checkpoint load_checkpoint(const fs::path& path) {
  TensorFile file = read_safetensors(path);
  Checkpoint checkpoint;
  try {
    checkpoint.at = position_from(Json::parse(file.metadata.at("position")));
    checkpoint.counters =
        Json::parse(file.metadata.at("counters")).get<std::map<std::string, int64_t>>();
  } catch (const std::exception& error) {
    throw UserError("{} is not a checkpoint of lockstep: {}", path.string(), error.what());
  }
  for (NamedTensor& tensor : file.tensors)
    checkpoint.arrays[tensor.name] = std::move(tensor.values);
  return checkpoint;
}

void announce_checkpoint(const fs::path& folder, const LatestCheckpoint& latest) {
  write_file(folder / "latest.json", Json{{"global_step", latest.global_step},
                                          {"ranks", latest.ranks},
                                          {"files", latest.files},
                                          {"config", latest.config}}
                                             .dump(2) +
                                         "\n");
  const fs::path keep = step_folder(folder, latest.global_step);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_directory() && entry.path() != keep) fs::remove_all(entry.path(), ignored);
}

LatestCheckpoint latest_checkpoint(const fs::path& folder) {
  const fs::path path = folder / "latest.json";
  if (!fs::exists(path))
    throw UserError(
        "{} does not exist: this run left no checkpoint to resume from; set "
        "train.checkpoint_every, or train it anew",
        path.string());
  try {
    const Json json = Json::parse(read_text(path));
    return {json.at("global_step").get<int64_t>(), json.at("ranks").get<int>(),
            json.at("files").get<int>(), json.at("config").get<std::string>()};
  } catch (const Json::exception& error) {
    throw UserError("{} is damaged: {}", path.string(), error.what());
  }
}

}  // namespace lockstep
