#pragma once

#include <string>
#include <vector>

namespace lockstep {

// What a derived value is relative to. Titles say "against 1 rank", base_over "over 1 rank".
enum class RelativeTo { nothing, base, base_over, slowest };

// A value of a point: from a run's summary.json, or derived from the times of several points.
struct ColumnKind {
  std::string name, title, description;
  bool percentage = false;  // a fraction, shown × 100
  RelativeTo relative = RelativeTo::nothing;
  std::string above_figures = {};  // title of figures; "": same as `title`

  const std::string& figure_title() const { return above_figures.empty() ? title : above_figures; }
};

const std::vector<ColumnKind>& known_columns();
ColumnKind column_named(const std::string& name);
// A value as tables show it.
std::string value_text(double value, const ColumnKind& column);
// Throws a UserError for an unknown name.
void check_column(const std::string& name, const std::string& source);

}  // namespace lockstep
