#include "study/study_folder.h"

#include <sstream>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"

namespace lockstep {

void save_origin(const StudyOrigin& origin, const fs::path& folder) {
  make_folder(folder);
  write_file(folder / "study.toml", origin.text);
  const auto keep = [&](const char* name, bool wanted, const std::string& content) {
    if (wanted)
      write_file(folder / name, content);
    else
      fs::remove(folder / name);
  };
  keep("quick", origin.quick, "");
  keep("changes", !origin.changes.empty(), join(origin.changes, "\n") + "\n");
}

bool is_study_folder(const fs::path& folder) { return fs::is_regular_file(folder / "study.toml"); }

Study load_study(const fs::path& folder) {
  const fs::path file = folder / "study.toml";
  Study study = parse_study(read_text(file), file.string(), fs::exists(folder / "quick"));
  if (study.name.empty()) study.name = fs::canonical(folder).filename().string();
  if (!fs::is_regular_file(folder / "changes")) return study;
  std::istringstream lines(read_text(folder / "changes"));
  std::vector<std::string> changes;
  for (std::string line; std::getline(lines, line);) changes.push_back(line);
  change_points(study, changes);
  return study;
}

void remove_results(const Study& study, const fs::path& folder) {
  // Following a link would remove files outside the study's folder.
  for (const fs::path& link : {folder / "points", folder / "warm-up"})
    if (fs::is_symlink(link))
      throw UserError("{} is a link; --force removes only files in the study's own folder",
                      printable(link.string()));
  for (const StudyPoint& point : study.points) fs::remove_all(folder / "points" / point.label);
  std::error_code not_empty;
  fs::remove(folder / "points", not_empty);  // unless other points are in it
  fs::remove_all(folder / "warm-up");
  for (const char* made :
       {"results.json", "claims.json", "report.html", "README.md", "ro-crate-metadata.json"})
    fs::remove(folder / made);
  std::vector<std::string> drawn = {"table", "claims", "time", "speed-up", "accuracy"};
  for (const FigureSpec& figure : study.figures) drawn.push_back(figure.name);
  for (const GridSpec& grid : study.grids) drawn.push_back(grid.name);
  for (const std::string& name : drawn)
    for (const char* ending : {".md", ".csv", ".tex", ".svg", ".png", ".pdf"})
      fs::remove(folder / (name + ending));
}

}  // namespace lockstep
