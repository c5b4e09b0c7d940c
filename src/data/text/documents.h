#pragma once

#include <string>
#include <vector>

#include "data/data_config.h"

namespace lockstep {

enum class TextPart { train, validation, test };

struct Document {
  std::string text;
  TextPart part = TextPart::train;
};

// The texts of a file: rows of a .csv or lines of a .jsonl, merged by data.template and given to
// parts by data.split_column or by the seed. `note` says what was left out.
std::vector<Document> read_documents(const DataConfig& config, uint64_t seed, std::string& note);

// Whether the file is a table of texts; else it is one text.
bool is_text_table(const std::string& path);

}  // namespace lockstep
