#include "report/cairo/pdf.h"

#include <cairo/cairo-pdf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/names.h"
#include "report/cairo/figure_drawing.h"

namespace lockstep {
namespace {

// A4 landscape, since tables are wide. In points.
constexpr double page_width = 842, page_height = 595, margin = 42;
constexpr double inner_width = page_width - 2 * margin, lowest = page_height - margin;
constexpr double gap = 10;  // between columns, and between figures of a row
// Two figures side by side, and two rows of them on a page.
constexpr double figure_tall = (page_height - 2 * margin - gap) / 2;
constexpr double figure_wide = figure_tall * figure_width / figure_height;
static_assert(2 * figure_wide + gap <= inner_width);
constexpr double largest_letters = 9, smallest_letters = 5.5;

// Font sizes from `largest` down to `smallest`, in steps of half a point.
std::vector<double> sizes_down(double largest, double smallest) {
  std::vector<double> sizes;
  for (int step = 0; largest - 0.5 * step >= smallest; ++step)
    sizes.push_back(largest - 0.5 * step);
  return sizes;
}

// Fills pages from top to bottom.
class Pages {
 public:
  explicit Pages(cairo_surface_t* surface) : canvas_(surface), c_(canvas_.context()) {}

  void write(const Document& document) {
    document_ = &document;
    canvas_.use_font(true);
    canvas_.text(margin, at_ += 18, canvas_.fitted(document.title, 18, inner_width), 18, 0);
    canvas_.use_font(false);
    paragraph(document.subtitle);
    for (const DocumentPart& part : document.parts) {
      if (!std::holds_alternative<Figure>(part)) end_row();
      if (const auto* heading = std::get_if<Heading>(&part)) add(*heading);
      if (const auto* text = std::get_if<Paragraph>(&part)) paragraph(text->text);
      if (const auto* table = std::get_if<Table>(&part)) add(*table);
      if (const auto* figure = std::get_if<Figure>(&part)) add(*figure);
    }
    end_page();
  }
  cairo_status_t status() const { return cairo_status(c_); }

 private:
  void end_page() {
    canvas_.colour(0.4, 0.4, 0.4);
    canvas_.text(page_width - margin, page_height - 20, fmt::format("page {}", ++pages_), 8, 1);
    canvas_.text(margin, page_height - 20, canvas_.fitted(document_->title, 8, inner_width - 60), 8,
                 0);
    canvas_.colour(0, 0, 0);
    cairo_show_page(c_);
    at_ = margin;
    in_row_ = 0;
  }
  void need(double height) {
    if (at_ + height > lowest) end_page();
  }

  void add(const Heading& heading) {
    need(80);  // keeps the heading on the page of what follows
    canvas_.use_font(true);
    canvas_.text(margin, at_ += 26, canvas_.fitted(heading.text, 12, inner_width), 12, 0);
    canvas_.use_font(false);
    at_ += 6;
  }

  void paragraph(const std::string& text) {
    for (const std::string& line : wrapped(text, 9, inner_width)) {
      need(12);
      canvas_.text(margin, at_ += 12, line, 9, 0);
    }
    at_ += 4;
  }

  // Lines no wider than `width`, broken at spaces; a wider word is cut.
  std::vector<std::string> wrapped(const std::string& text, double size, double width) {
    std::vector<std::string> lines;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      if (!lines.empty() && canvas_.width_of(lines.back() + " " + word, size) <= width)
        lines.back() += " " + word;
      else
        lines.push_back(word);
    }
    for (std::string& line : lines) line = canvas_.fitted(line, size, width);
    return lines;
  }

  // Width of a column without line breaks, and minimum width for its longest word.
  struct Column {
    double wanted = 0, least = 0;
  };
  std::vector<Column> columns_of(const Table& table, double size) {
    std::vector<Column> columns;
    for (size_t c = 0; c < table.head.size(); ++c) {
      Column column;
      const auto look = [&](const std::string& cell) {
        column.wanted = std::max(column.wanted, canvas_.width_of(cell, size));
        std::istringstream words(cell);
        for (std::string word; words >> word;)
          column.least = std::max(column.least, canvas_.width_of(word, size));
      };
      canvas_.use_font(true);
      look(table.head[c]);
      canvas_.use_font(false);
      for (const auto& row : table.rows) look(row[c]);
      columns.push_back(column);
    }
    return columns;
  }

  static double sum(const std::vector<double>& widths) {
    double all = -gap;
    for (const double width : widths) all += width + gap;
    return all;
  }

  // Narrows the column that is furthest above its minimum width until all fit; with `beyond_least`
  // then the widest column.
  static std::vector<double> narrowed(const std::vector<Column>& columns, bool beyond_least) {
    std::vector<double> widths;
    for (const Column& column : columns) widths.push_back(column.wanted);
    while (sum(widths) > inner_width) {
      size_t best = 0;
      double most = 0;
      for (size_t c = 0; c < widths.size(); ++c)
        if (const double spare = widths[c] - columns[c].least; spare > most) best = c, most = spare;
      if (most < 0.5 && !beyond_least) break;
      if (most < 0.5)
        best = static_cast<size_t>(std::max_element(widths.begin(), widths.end()) - widths.begin());
      widths[best] -= std::min(sum(widths) - inner_width, std::max(0.5, widths[best] * 0.05));
    }
    return widths;
  }

  struct Layout {
    double size;  // of the font
    std::vector<double> widths;
  };
  // One line per row if the font stays readable, else several.
  Layout layout(const Table& table) {
    for (const double size : sizes_down(largest_letters, 7)) {
      Layout plain{size, {}};
      for (const Column& column : columns_of(table, size)) plain.widths.push_back(column.wanted);
      if (sum(plain.widths) <= inner_width) return plain;
    }
    for (const double size : sizes_down(8, smallest_letters))
      if (Layout broken{size, narrowed(columns_of(table, size), false)};
          sum(broken.widths) <= inner_width)
        return broken;
    return {smallest_letters, narrowed(columns_of(table, smallest_letters), true)};
  }

  void add(const Table& table) {
    if (!table.caption.empty()) add(Heading{table.caption});
    const Layout found = layout(table);
    const double size = found.size, row = size * 1.25, padding = size * 0.3;
    const std::vector<double>& widths = found.widths;
    const double right = margin + sum(widths);
    using Cells = std::vector<std::vector<std::string>>;  // lines of each cell
    const auto cells_of = [&](const std::vector<std::string>& texts) {
      Cells cells;
      for (size_t c = 0; c < texts.size(); ++c)
        cells.push_back(wrapped(texts[c], size, widths[c] + 0.5));
      return cells;
    };
    const auto height_of = [&](const Cells& cells) {
      size_t lines = 1;
      for (const auto& cell : cells) lines = std::max(lines, cell.size());
      return static_cast<double>(lines) * row + padding;
    };
    const auto line = [&](const Cells& cells) {
      double x = margin;
      for (size_t c = 0; c < cells.size(); ++c) {
        const bool number = goes_right(table, c);
        for (size_t i = 0; i < cells[c].size(); ++i)
          canvas_.text(number ? x + widths[c] : x, at_ + static_cast<double>(i + 1) * row,
                       cells[c][i], size, number ? 1 : 0);
        x += widths[c] + gap;
      }
      at_ += height_of(cells);
    };
    const auto head = [&] {
      cairo_set_line_width(c_, 0.8);
      canvas_.line(margin, at_, right, at_);
      canvas_.use_font(true);
      line(cells_of(table.head));
      canvas_.use_font(false);
      cairo_set_line_width(c_, 0.5);
      canvas_.line(margin, at_, right, at_);
    };
    need(5 * row);
    head();
    for (const auto& texts : table.rows) {
      const Cells cells = cells_of(texts);
      if (at_ + height_of(cells) > lowest) {
        end_page();
        head();
      }
      line(cells);
    }
    cairo_set_line_width(c_, 0.8);
    canvas_.line(margin, at_, right, at_);
    at_ += 2;
    paragraph(table.note);
  }

  void add(const Figure& figure) {
    if (in_row_ == 2) end_row();
    if (in_row_ == 0) need(figure_tall);
    cairo_save(c_);
    cairo_translate(c_, margin + in_row_ * (figure_wide + gap), at_);
    cairo_scale(c_, figure_wide / figure_width, figure_tall / figure_height);
    draw_figure(figure, canvas_);
    cairo_restore(c_);
    canvas_.colour(0, 0, 0);
    ++in_row_;
  }
  void end_row() {
    if (in_row_ > 0) at_ += figure_tall + gap;
    in_row_ = 0;
  }

  Canvas canvas_;
  cairo_t* c_;
  const Document* document_ = nullptr;
  double at_ = margin;  // how far the page is filled, from the top
  int in_row_ = 0;      // number of figures in the current row
  int pages_ = 0;
};

}  // namespace

std::string draw_pdf(const Document& document, const fs::path& file) {
  const std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface(
      cairo_pdf_surface_create(file.c_str(), page_width, page_height), cairo_surface_destroy);
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_TITLE,
                                 printable(document.title).c_str());
  cairo_status_t status = CAIRO_STATUS_SUCCESS;
  {
    Pages pages(surface.get());
    pages.write(document);
    status = pages.status();
  }
  return finish(surface.get(), status);
}

}  // namespace lockstep
