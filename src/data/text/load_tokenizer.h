#pragma once

#include "data/say.h"
#include "text/tokenizer.h"

namespace lockstep {

// `name`: "bytes", "gpt2" (fetched if not cached), or a folder with a tokenizer's files.
Tokenizer load_tokenizer(const std::string& name, const Say& say);

}  // namespace lockstep
