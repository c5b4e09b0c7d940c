#pragma once

#include <map>
#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// Files of named float tensors, as Hugging Face's safetensors: a length, a JSON header, the
// numbers.
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
  bool has_digest = false;  // one lies beside the file, and was compared
};

// Checks the whole header against the file's size before it allocates anything for a tensor:
// lengths, overlaps, holes and overflow are errors that name the tensor and the bytes. So is
// content that does not match a digest beside the file.
TensorFile read_safetensors(const fs::path& path);

}  // namespace lockstep
