#include "nn/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "os/digests.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr uint64_t longest_header = 100'000'000;  // the limit of the format's reference reader

constexpr int deepest_header = 8;  // valid headers have 3 levels: tensors, fields, lists

struct Place {
  std::string name;
  std::vector<int64_t> shape;
  uint64_t begin, end;
};

[[noreturn]] void damaged(const fs::path& path, const std::string& what) {
  throw UserError("{} is not a valid safetensors file: {}", path.string(), what);
}

uint64_t whole_number(const fs::path& path, const Json& json, const std::string& what) {
  if (!json.is_number_unsigned()) damaged(path, what + " is not a whole number");
  return json.get<uint64_t>();
}

Place place_of(const fs::path& path, const std::string& name, const Json& json, uint64_t data) {
  const std::string tensor = "tensor '" + name + "'";
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    damaged(path, tensor + " lacks dtype, shape or data_offsets");
  if (json["dtype"] != "F32")
    throw UserError("{}: {} has type {}; only F32 is supported, convert it first", path.string(),
                    tensor, json["dtype"].dump());
  const Json& offsets = json["data_offsets"];
  if (!json["shape"].is_array() || !offsets.is_array() || offsets.size() != 2)
    damaged(path, tensor + " has a wrong shape or data_offsets");
  Place place{.name = name,
              .shape = {},
              .begin = whole_number(path, offsets[0], tensor + "'s offset"),
              .end = whole_number(path, offsets[1], tensor + "'s offset")};
  if (place.begin > place.end || place.end > data)
    damaged(path, fmt::format("{} claims bytes {} to {}, but the file holds {} bytes of data",
                              tensor, place.begin, place.end, data));
  uint64_t bytes = sizeof(float);
  for (const Json& extent : json["shape"]) {
    const uint64_t size = whole_number(path, extent, tensor + "'s shape");
    if (__builtin_mul_overflow(bytes, size, &bytes) || size > INT64_MAX)
      damaged(path, tensor + " has a shape whose size overflows");
    place.shape.push_back(static_cast<int64_t>(size));
  }
  if (bytes != place.end - place.begin)
    damaged(path, fmt::format("{} needs {} bytes by its shape, but has {}", tensor, bytes,
                              place.end - place.begin));
  return place;
}

// Rejects deep nesting and duplicate names, which JSON parsers usually accept.
Json parse_header(const fs::path& path, const std::string& text) {
  std::set<std::string> names;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > deepest_header)
      damaged(path, fmt::format("its header is nested more than {} deep", deepest_header));
    if (depth == 1 && event == Json::parse_event_t::key &&
        !names.insert(parsed.get<std::string>()).second)
      damaged(path, "the name '" + parsed.get<std::string>() + "' is used twice");
    return true;
  };
  const Json header = Json::parse(text, watch, false);
  if (!header.is_object()) damaged(path, "its header is not a JSON object");
  return header;
}

void expect_no_gaps(const fs::path& path, std::vector<Place>& places, uint64_t data) {
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const Place& place : places) {
    if (place.begin < at)
      damaged(path, fmt::format("tensor '{}' overlaps the one before it at byte {}", place.name,
                                place.begin));
    if (place.begin > at)
      damaged(path, fmt::format("bytes {} to {} belong to no tensor", at, place.begin));
    at = place.end;
  }
  if (at != data)
    damaged(path, fmt::format("{} bytes after the last tensor belong to no tensor", data - at));
}

}  // namespace

std::vector<uint8_t> safetensors_bytes(const std::vector<NamedTensor>& tensors,
                                       const Metadata& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const NamedTensor& tensor : tensors) {
    const uint64_t end = at + tensor.values.size() * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  std::vector<uint8_t> content(sizeof(length) + text.size() + at);
  std::memcpy(content.data(), &length, sizeof(length));
  std::memcpy(content.data() + sizeof(length), text.data(), text.size());
  uint8_t* to = content.data() + sizeof(length) + text.size();
  for (const NamedTensor& tensor : tensors) {
    to = std::copy_n(reinterpret_cast<const uint8_t*>(tensor.values.data()),
                     tensor.values.size() * sizeof(float), to);
  }
  return content;
}

TensorFile read_safetensors(const fs::path& path) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file)
    throw UserError("cannot read {}: no such file, or not readable", path.string());
  uint64_t length = 0;
  if (size < sizeof(length))
    damaged(path, fmt::format("it has {} bytes, at least 8 were expected", size));
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  if (length > size - sizeof(length) || length > longest_header)
    damaged(path, fmt::format("its header claims {} bytes, but the file has {}", length, size));
  std::string text(length, '\0');
  file.read(text.data(), static_cast<std::streamsize>(length));
  const Json header = parse_header(path, text);

  TensorFile result;
  result.has_digest = expect_undamaged(path);
  std::vector<Place> places;
  const uint64_t data = size - sizeof(length) - length;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") {
      places.push_back(place_of(path, name, json, data));
      continue;
    }
    if (!json.is_object()) damaged(path, "__metadata__ is not an object");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) damaged(path, "__metadata__ has a value that is not text");
      result.metadata[key] = value.get<std::string>();
    }
  }
  expect_no_gaps(path, places, data);
  for (Place& place : places) {
    NamedTensor tensor{std::move(place.name), std::move(place.shape), {}};
    tensor.values.resize((place.end - place.begin) / sizeof(float));
    file.read(reinterpret_cast<char*>(tensor.values.data()),
              static_cast<std::streamsize>(place.end - place.begin));
    if (!file) throw Failure("cannot read {}: it ended early", path.string());
    result.tensors.push_back(std::move(tensor));
  }
  return result;
}

}  // namespace lockstep
