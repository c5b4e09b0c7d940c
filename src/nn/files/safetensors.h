#pragma once

#include <map>
#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// Files of named float tensors in the safetensors format of Hugging Face: the header's length, a
// JSON header, the values.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

using Metadata = std::map<std::string, std::string>;

std::vector<uint8_t> safetensors_bytes(const std::vector<NamedTensor>& tensors,
                                       const Metadata& metadata);

struct TensorFile {
  std::vector<NamedTensor> tensors;
  Metadata metadata;
  bool has_digest = false;  // a digest is stored beside the file, and it matches
};

// Checks the whole header against the file's size before allocating memory for a tensor. Wrong
// lengths, overlaps, gaps and overflow are errors that name the tensor and the bytes; so is content
// that does not match the digest beside the file.
TensorFile read_safetensors(const fs::path& path);

}  // namespace lockstep
