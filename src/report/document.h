#pragma once

#include <variant>

#include "report/figure.h"
#include "report/table.h"

namespace lockstep {

// What a PDF is made of, from top to bottom. Figures that follow each other share a row.
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

// Writes A4 pages, as many as it takes.
void write_pdf(const Document& document, const fs::path& file);

}  // namespace lockstep
