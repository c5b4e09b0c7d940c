#include "train/checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/strict_json.h"
#include "nn/files/safetensors.h"
#include "os/digests.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* step_start = "step-";

fs::path step_folder(const fs::path& folder, int64_t global_step) {
  return folder / fmt::format("{}{}", step_start, global_step);
}

// JSON has doubles as their shortest exact text.
Json position_json(const Position& at) {
  return {{"epoch", at.epoch},
          {"step", at.step},
          {"global_step", at.global_step},
          {"epoch_loss", at.epoch_loss},
          {"epoch_correct", at.epoch_correct},
          {"epoch_samples", at.epoch_samples},
          {"best_loss", at.best_loss},
          {"best_epoch", at.best_epoch},
          {"first_loss", at.first_loss},
          {"last_loss", at.last_loss},
          {"last_accuracy", at.last_accuracy}};
}

Position position_from(const Json& json) {
  const auto number = [&](const char* key) {
    return json.at(key).is_null() ? std::nan("") : json.at(key).get<double>();
  };
  // Checkpoints of earlier versions do not have it.
  const auto if_kept = [&](const char* key) { return json.contains(key) ? number(key) : 0; };
  return {.epoch = json.at("epoch").get<int64_t>(),
          .step = json.at("step").get<int64_t>(),
          .global_step = json.at("global_step").get<int64_t>(),
          .epoch_loss = number("epoch_loss"),
          .epoch_correct = json.at("epoch_correct").get<int64_t>(),
          .epoch_samples = json.at("epoch_samples").get<int64_t>(),
          .best_loss = number("best_loss"),
          .best_epoch = json.at("best_epoch").get<int64_t>(),
          .first_loss = if_kept("first_loss"),
          .last_loss = if_kept("last_loss"),
          .last_accuracy = if_kept("last_accuracy")};
}

CheckpointInfo read_info(const fs::path& path) { return info_from(read_text(path), path.string()); }

// The step in the folder's name; -1: not a checkpoint.
int64_t step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(step_start)) return -1;
  const std::string digits = name.substr(std::string_view(step_start).size());
  if (digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return -1;
  return std::stoll(digits);
}

std::vector<fs::path> step_folders(const fs::path& folder) {  // newest first
  std::vector<fs::path> all;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_directory() && step_of(entry.path()) >= 0) all.push_back(entry.path());
  std::ranges::sort(all, [](const auto& a, const auto& b) { return step_of(a) > step_of(b); });
  return all;
}

bool is_announced(const fs::path& step) { return fs::exists(digests_path(step)); }

// Throws a UserError that names the damaged file.
KeptCheckpoint checked(const fs::path& step) {
  const Digests digests = *read_digests(step);
  for (const auto& [name, digest] : digests.files) expect_undamaged(step / name);
  return {step, read_info(step / "checkpoint.json")};
}

}  // namespace

std::string info_text(const CheckpointInfo& info) {
  return Json{{"global_step", info.global_step},
              {"ranks", info.ranks},
              {"files", info.files},
              {"stages", info.stages},
              {"config", info.config},
              {"metrics_bytes", info.metrics_bytes}}
             .dump(2) +
         "\n";
}

CheckpointInfo info_from(const std::string& text, const std::string& where) {
  const Json json = parse_object<Json>(text, where, 4);
  try {
    CheckpointInfo info{.global_step = json.at("global_step").get<int64_t>(),
                        .ranks = json.at("ranks").get<int>(),
                        .files = json.at("files").get<int>(),
                        .stages = json.value("stages", 1),
                        .config = json.at("config").get<std::string>(),
                        .metrics_bytes = json.value("metrics_bytes", int64_t{-1})};
    if (info.global_step < 0 || info.ranks < 1 || info.stages < 1 ||
        info.ranks % info.stages != 0 || (info.files != 1 && info.files != info.ranks))
      throw UserError("{} is damaged: its values are impossible", where);
    return info;
  } catch (const Json::exception& error) {
    throw UserError("{} is damaged: {}", where, error.what());
  }
}

fs::path checkpoint_file(const fs::path& folder, int64_t global_step, int rank) {
  return step_folder(folder, global_step) / fmt::format("rank-{}.safetensors", rank);
}

void withdraw_checkpoint(const fs::path& folder, int64_t global_step) {
  std::error_code ignored;
  fs::remove(digests_path(step_folder(folder, global_step)), ignored);
}

uint64_t save_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, values] : checkpoint.arrays)
    tensors.push_back({name, {static_cast<int64_t>(values.size())}, values});
  make_folder(path.parent_path());
  const std::vector<uint8_t> content =
      safetensors_bytes(tensors, {{"position", position_json(checkpoint.at).dump()},
                                  {"counters", Json(checkpoint.counters).dump()}});
  write_file(path, content);
  return digest_of(content);
}

Checkpoint load_checkpoint(const fs::path& path) {
  TensorFile file = read_safetensors(path);
  Checkpoint checkpoint;
  try {
    checkpoint.at = position_from(parse_object<Json>(file.metadata.at("position"), "position", 2));
    checkpoint.counters = parse_object<Json>(file.metadata.at("counters"), "counters", 2)
                              .get<std::map<std::string, int64_t>>();
  } catch (const std::exception& error) {
    throw UserError("{} is not a checkpoint of lockstep: {}", path.string(), error.what());
  }
  for (NamedTensor& tensor : file.tensors)
    checkpoint.arrays[tensor.name] = std::move(tensor.values);
  return checkpoint;
}

void announce_checkpoint(const fs::path& folder, const CheckpointInfo& info,
                         const std::vector<uint64_t>& digests, const std::string& run,
                         int64_t keep) {
  const fs::path step = step_folder(folder, info.global_step);
  const std::string text = info_text(info);
  Digests all{.run = run, .files = {}};
  for (int rank = 0; rank < info.files; ++rank)
    all.files[checkpoint_file(folder, info.global_step, rank).filename()] =
        digests[static_cast<size_t>(rank)];
  all.files["checkpoint.json"] =
      digest_of({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  write_file(step / "checkpoint.json", text);
  write_file(digests_path(step), digests_text(all));
  std::error_code ignored;
  fs::remove(folder / "latest.json", ignored);  // written by 0.1.0
  int64_t kept = 0;
  for (const fs::path& other : step_folders(folder)) {
    if (other == step) continue;
    // Newer ones were abandoned: the run was resumed from an older one.
    const bool counts = is_announced(other) && step_of(other) < info.global_step;
    if (!counts || ++kept >= keep) fs::remove_all(other, ignored);
  }
}

std::vector<KeptCheckpoint> kept_checkpoints(const fs::path& folder,
                                             std::vector<std::string>& damaged) {
  std::vector<KeptCheckpoint> kept;
  for (const fs::path& step : step_folders(folder)) {
    if (!is_announced(step)) continue;
    try {
      kept.push_back(checked(step));
    } catch (const UserError& error) {
      damaged.push_back(error.what());
    }
  }
  const fs::path old = folder / "latest.json";  // 0.1.0 named its only checkpoint there
  if (kept.empty() && damaged.empty() && fs::exists(old)) {
    const CheckpointInfo info = read_info(old);
    kept.push_back({step_folder(folder, info.global_step), info});
  }
  if (!kept.empty()) return kept;
  if (damaged.empty())
    throw UserError(
        "{} holds no checkpoint: this run left none to resume from; set train.checkpoint_every, "
        "or train it again",
        folder.string());
  throw UserError("no checkpoint in {} can be used: {}", folder.string(), fmt::join(damaged, "; "));
}

}  // namespace lockstep
