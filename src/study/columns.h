#pragma once

#include <string>
#include <vector>

namespace lockstep {

// What a derived figure is relative to, in words: "against 1 rank", "over 1 rank".
enum class RelativeTo { nothing, base, base_over, slowest };

// A figure of a point: of a run's summary.json, or derived from the times of several points.
struct ColumnKind {
  std::string name, title, description;
  bool percentage = false;  // of a share: shown × 100
  RelativeTo relative = RelativeTo::nothing;
  std::string above_figures;  // where that is not the title

  const std::string& figure_title() const { return above_figures.empty() ? title : above_figures; }
};

const std::vector<ColumnKind>& known_columns();
// Any other number of summary.json is a column too: its name, with dots for what is inside.
ColumnKind column_named(const std::string& name);
// Fails for a name that is close to a known one but is not it.
void check_column(const std::string& name, const std::string& source);

}  // namespace lockstep
