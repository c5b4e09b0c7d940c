#pragma once

#include <variant>

#include "report/figure.h"
#include "report/table.h"

namespace lockstep {

// Parts of a PDF, from top to bottom. Two consecutive figures share a row.
struct Heading {
  std::string text;
};
struct Paragraph {
  std::string text;
};
using DocumentPart = std::variant<Heading, Paragraph, Table, Figure>;

struct Document {
  std::string title, subtitle;
  std::vector<DocumentPart> parts;
};

// Writes A4 pages.
void write_pdf(const Document& document, const fs::path& file);

}  // namespace lockstep
