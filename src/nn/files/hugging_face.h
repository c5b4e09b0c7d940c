#pragma once

#include <map>

#include "nn/gpt2.h"
#include "nn/parameters.h"
#include "os/files.h"

namespace lockstep {

// Directories as the transformers library reads and writes them: config.json, model.safetensors (or
// several and an index), generation_config.json; a tokenizer's files are src/text's business.

// Whether the folder looks like one.
bool is_hugging_face(const fs::path& folder);

// Every number of config.json is checked before anything is made from it.
Gpt2 read_gpt2_config(const fs::path& folder);

// Throws a UserError that names all tensors which are missing or not known.
void load_gpt2(const fs::path& folder, Parameters& parameters);

// The files that belong beside model.safetensors: names and contents.
std::map<std::string, std::string> gpt2_files(const Gpt2& size, int32_t end_of_text);

}  // namespace lockstep
