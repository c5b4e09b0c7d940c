#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "data/fetch/folders.h"
#include "fuzz_target.h"

namespace lockstep {
namespace {

constexpr std::string_view separator = "\n====\n";

}  // namespace

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> all = {
      checkpoint_target(),   cluster_target(),     config_target(),      csv_target(),
      hugging_face_target(), idx_target(),         image_target(),       layers_target(),
      profile_target(),      run_record_target(),  safetensors_target(), study_target(),
      text_target(),         token_cache_target(), tokenizer_target()};
  return all;
}

void run(const FuzzTarget& target, std::span<const uint8_t> input) {
  try {
    target.read({input.begin(), input.end()});
  } catch (const UserError&) {
  } catch (const Failure&) {
  }
}

std::vector<std::string> files_of(const std::string& input, size_t count) {
  std::vector<std::string> contents(count);
  size_t at = 0;
  for (size_t i = 0; i < count && at <= input.size(); ++i) {
    const size_t end = i + 1 < count ? input.find(separator, at) : std::string::npos;
    contents[i] = input.substr(at, end == std::string::npos ? end : end - at);
    at = end == std::string::npos ? input.size() + 1 : end + separator.size();
  }
  return contents;
}

std::string joined(const std::vector<std::string>& contents) {
  std::string all;
  for (const std::string& content : contents) {
    if (&content != &contents.front()) all += separator;
    all += content;
  }
  return all;
}

std::vector<std::string> header_and_data(const std::string& safetensors) {
  uint64_t length = 0;
  std::memcpy(&length, safetensors.data(), sizeof(length));
  return {safetensors.substr(sizeof(length), length), safetensors.substr(sizeof(length) + length)};
}

std::string safetensors_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string file(sizeof(length), 0);
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + data;
}

fs::path scratch_folder() {
  static const ScratchFolder folder(fs::temp_directory_path());
  return folder.path();
}

fs::path scratch_file(const std::string& name, const std::string& content) {
  const fs::path path = scratch_folder() / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  return path;
}

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string repository_file(const std::string& path) {
  return read_text(fs::path(LOCKSTEP_REPOSITORY) / path);
}

std::vector<std::string> repository_files(const std::string& folder) {
  std::vector<std::string> contents;
  for (const auto& entry : fs::directory_iterator(fs::path(LOCKSTEP_REPOSITORY) / folder))
    if (entry.path().extension() == ".toml") contents.push_back(read_text(entry.path()));
  std::sort(contents.begin(), contents.end());
  return contents;
}

}  // namespace lockstep
