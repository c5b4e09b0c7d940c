#pragma once

#include <map>

#include "nn/gpt2.h"
#include "nn/parameters.h"
#include "os/files.h"

namespace lockstep {

// Directories in the format of the transformers library: config.json, model.safetensors (or several
// files and an index), generation_config.json. The tokenizer's files are read in src/text.

bool is_hugging_face(const fs::path& folder);

// Checks the range of every number in config.json, so that callers can allocate by them.
Gpt2 read_gpt2_config(const fs::path& folder);

// Throws a UserError that names all missing and unknown tensors.
void load_gpt2(const fs::path& folder, Parameters& parameters);

// Names and contents of the other files of the directory: config.json, generation_config.json.
std::map<std::string, std::string> gpt2_files(const Gpt2& size, int32_t end_of_text);

}  // namespace lockstep
