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

// Reads the rows of a .csv or .jsonl file as texts: data.template merges the columns;
// data.split_column or, without it, the seed assigns rows to parts. Appends to `note` which rows
// were left out.
std::vector<Document> read_documents(const DataConfig& config, uint64_t seed, std::string& note);

// Whether the file is a table of texts (.csv or .jsonl). All other files are one text.
bool is_text_table(const std::string& path);

}  // namespace lockstep
