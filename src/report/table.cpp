#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace lockstep {
namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) ||
                           ((cell[0] == '-' || cell[0] == '+') && cell.size() > 1));
}

std::string replaced(const std::string& text, const std::vector<std::pair<char, std::string>>& by) {
  std::string result;
  for (const char c : text) {
    const auto found =
        std::find_if(by.begin(), by.end(), [&](const auto& b) { return b.first == c; });
    result += found == by.end() ? std::string(1, c) : found->second;
  }
  return result;
}

std::string tex(const std::string& text) {
  std::string safe = replaced(text, {{'&', "\\&"},
                                     {'%', "\\%"},
                                     {'$', "\\$"},
                                     {'#', "\\#"},
                                     {'_', "\\_"},
                                     {'{', "\\{"},
                                     {'}', "\\}"},
                                     {'~', "\\textasciitilde{}"},
                                     {'^', "\\textasciicircum{}"},
                                     {'\\', "\\textbackslash{}"}});
  const std::pair<const char*, const char*> signs[] = {
      {"±", "$\\pm$"}, {"×", "$\\times$"}, {"–", "--"}, {"−", "$-$"}};
  for (const auto& [sign, command] : signs)
    for (size_t at = 0; (at = safe.find(sign, at)) != std::string::npos;)
      safe.replace(at, std::string(sign).size(), command);
  return safe;
}

std::string csv(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  return '"' + replaced(cell, {{'"', "\"\""}}) + '"';
}

}  // namespace

bool goes_right(const Table& table, size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return row[column].empty() || is_number(row[column]);
  });
}

std::string to_markdown(const Table& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells)
      text += " " + replaced(cell, {{'|', "\\|"}, {'\n', " "}}) + " |";
    return text + "\n";
  };
  std::string text = table.caption.empty() ? "" : "**" + table.caption + "**\n\n";
  text += line(table.head) + "|";
  for (size_t c = 0; c < table.head.size(); ++c) text += goes_right(table, c) ? "---:|" : "---|";
  text += "\n";
  for (const auto& row : table.rows) text += line(row);
  if (!table.note.empty()) text += "\n" + table.note + "\n";
  return text;
}

std::string to_csv(const Table& table) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (size_t c = 0; c < cells.size(); ++c) text += (c > 0 ? "," : "") + csv(cells[c]);
    text += "\n";
  };
  add(table.head);
  for (const auto& row : table.rows) add(row);
  return text;
}

std::string to_latex(const Table& table) {
  std::string columns;
  for (size_t c = 0; c < table.head.size(); ++c) columns += goes_right(table, c) ? 'r' : 'l';
  std::string text = "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n";
  if (!table.caption.empty()) text += "\\caption{" + tex(table.caption) + "}\n";
  text += "\\begin{tabular}{" + columns + "}\n\\toprule\n";
  const auto line = [](const std::vector<std::string>& cells) {
    std::string row;
    for (size_t c = 0; c < cells.size(); ++c) row += (c > 0 ? " & " : "") + tex(cells[c]);
    return row + " \\\\\n";
  };
  text += line(table.head) + "\\midrule\n";
  for (const auto& row : table.rows) text += line(row);
  text += "\\bottomrule\n\\end{tabular}\n";
  if (!table.note.empty()) text += "\\par\\smallskip\\footnotesize " + tex(table.note) + "\n";
  return text + "\\end{table}\n";
}

}  // namespace lockstep
