#include "study/study.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "study/results/columns.h"
#include "study/study_checks.h"

namespace lockstep {
namespace {

// The last part of a key: "ranks" of "parallel.ranks".
std::string short_name(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// A label made of a point's keys. Values may be paths: separators become '_'.
std::string made_label(const StudyPoint& point, const std::string& where) {
  std::string label;
  for (const auto& [key, value] : point.keys)
    label += (label.empty() ? "" : ", ") + short_name(key) + "=" + value;
  for (char& c : label)
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
  expect_name(label, where);
  return label;
}

// Throws a UserError, with the nearest valid key or value, if a configuration rejects this one.
void check_key(const std::string& key, const std::string& value, const std::string& where) {
  RunConfig scratch;
  try {
    set_keys(scratch, {parse_assignment(key + "=" + value)});
  } catch (const UserError& error) {
    const std::string text = error.what();
    throw UserError("{}: {}", where, text.substr(text.find(": ") + 2));
  }
}

// The same for a key of a point, which may also name its configuration and its number of nodes.
void check_point_key(const std::string& key, const std::string& value, const std::string& where) {
  if (key == config_key) return check_config(value, where);
  if (key == series_key) return;
  if (key != nodes_key) return check_key(key, value, where);
  int nodes = 0;
  const char* const end = value.data() + value.size();
  if (std::from_chars(value.data(), end, nodes).ptr != end || nodes < 1 || nodes > 100'000)
    throw UserError("{}: nodes = {} is not possible; expected 1 to 100000", where,
                    printable(value));
}

void sort_in(const std::string& key, const TomlValue& value, Sections& into) {
  const auto rest = [&](const char* prefix) { return key.substr(std::string(prefix).size()); };
  const auto numbered = [&](const std::string& tail, std::map<int, Keys>& all) {
    const size_t dot = std::min(tail.find('.'), tail.size());
    int number = -1;
    const char* const end = tail.data() + dot;
    if (std::from_chars(tail.data(), end, number).ptr != end || number < 0 || dot == tail.size())
      throw UserError("{}: '{}' was not expected; every point is a separate table: [[{}]]",
                      value.where, printable(key), key.substr(0, key.find('.')));
    all[number].emplace_back(tail.substr(dot + 1), value);
  };
  if (key.starts_with("set."))
    into.set.emplace_back(rest("set."), value);
  else if (key.starts_with("grid."))
    into.grid.emplace_back(rest("grid."), value);
  else if (key.starts_with("points."))
    numbered(rest("points."), into.points);
  else if (key.starts_with("published."))
    numbered(rest("published."), into.published);
  else if (key.starts_with("figures."))
    numbered(rest("figures."), into.figures);
  else if (key.starts_with("grids."))
    numbered(rest("grids."), into.grids);
  else if (key.starts_with("claims."))
    numbered(rest("claims."), into.claims);
  else
    into.plain.insert_or_assign(key, value);
}

void replace_by(Sections& all, const Sections& quick) {
  for (const auto& [key, value] : quick.plain) all.plain.insert_or_assign(key, value);
  for (const auto& entry : quick.set) {
    std::erase_if(all.set, [&](const auto& old) { return old.first == entry.first; });
    all.set.push_back(entry);
  }
  for (const auto& entry : quick.grid) {  // keeps the order of keys, so that labels stay the same
    const auto same = std::find_if(all.grid.begin(), all.grid.end(),
                                   [&](const auto& old) { return old.first == entry.first; });
    same == all.grid.end() ? all.grid.push_back(entry) : void(*same = entry);
  }
  if (!quick.points.empty()) all.points = quick.points;
}

void refuse_in_quick(const Sections& quick) {
  for (const auto* tables : {&quick.published, &quick.figures, &quick.grids, &quick.claims})
    if (!tables->empty())
      throw UserError(
          "{}: [quick] has settings and points only; published values, figures, grids "
          "and claims are those of the study",
          first_line(tables->begin()->second));
}

constexpr size_t most_points = 1'000;

void add_grid(const Keys& grid, Study& study) {
  std::vector<StudyPoint> points = {
      {.label = "", .config = study.config, .keys = {}, .differs = {}}};
  for (const auto& [key, value] : grid) {
    const auto* list = std::get_if<std::vector<std::string>>(&value.data);
    if (!list || list->empty())
      throw UserError("{}: grid.{} is {}; a list of values was expected, such as [1, 2, 4]",
                      value.where, key, list ? "an empty list" : value.type());
    if (points.size() * list->size() > most_points)
      throw UserError("{}: the grid has more than {} points", value.where, most_points);
    for (const std::string& item : *list) check_point_key(key, item, value.where);
    std::vector<StudyPoint> more;
    for (const StudyPoint& point : points)
      for (const std::string& item : *list) {
        more.push_back(point);
        if (key == config_key) more.back().config = item;
        more.back().keys.emplace_back(key, item);
      }
    points = std::move(more);
  }
  if (grid.empty()) return;
  for (StudyPoint& point : points) {
    point.where = grid.front().second.where;
    point.label = made_label(point, point.where);
  }
  study.points.insert(study.points.end(), points.begin(), points.end());
}

void add_points(const std::map<int, Keys>& tables, Study& study) {
  for (const auto& [number, keys] : tables) {
    StudyPoint point{.label = "", .config = study.config, .keys = {}, .differs = {}};
    bool named = false;
    point.where = first_line(keys);
    for (const auto& [key, value] : keys) {
      if (key == label_key) {
        point.label = text_of(value);
        expect_name(point.label, value.where);
        named = true;
        continue;
      }
      check_point_key(key, text_of(value), value.where);
      if (key == config_key) point.config = text_of(value);
      point.keys.emplace_back(key, text_of(value));
    }
    if (!named) point.label = made_label(point, keys.front().second.where);
    study.points.push_back(std::move(point));
  }
}

// A top-level key of the file. Setters throw a UserError if the value has the wrong type.
struct StudyKey {
  const char* name;
  void (*set)(Study& study, const std::string& key, const TomlValue& value);
};

template <std::string Study::*member>
void set_text(Study& study, const std::string&, const TomlValue& value) {
  study.*member = text_of(value);
}

template <auto member>
void set_choice(Study& study, const std::string& key, const TomlValue& value) {
  using Choice = std::remove_reference_t<decltype(study.*member)>;
  const std::string text = text_of(value);
  const auto found = from_text<Choice>(text);
  if (!found)
    throw UserError("{}: {} = \"{}\" is not known; {}", value.where, key, text,
                    suggestion(text, all_texts<Choice>()));
  study.*member = *found;
}

template <int64_t Study::*member, int64_t least>
void set_count(Study& study, const std::string& key, const TomlValue& value) {
  const int64_t count = value_as<int64_t>(key, value);
  if (count < least || count > 1000)
    throw UserError("{}: {} = {} is not possible; expected {} to 1000", value.where, key, count,
                    least);
  study.*member = count;
}

constexpr StudyKey study_keys[] = {
    {"name",
     [](Study& study, const std::string&, const TomlValue& value) {
       study.name = text_of(value);
       expect_name(study.name, value.where);
     }},
    {"title", set_text<&Study::title>},
    {"notes", set_text<&Study::notes>},
    {"verb", set_choice<&Study::verb>},
    {"config",
     [](Study& study, const std::string&, const TomlValue& value) {
       study.config = text_of(value);
       check_config(study.config, value.where);
     }},
    {"spread", set_choice<&Study::spread>},
    {"scale",
     [](Study& study, const std::string&, const TomlValue& value) {
       study.scale = text_of(value);
       check_scale(study.scale, value.where);
     }},
    {"time",
     [](Study& study, const std::string&, const TomlValue& value) {
       study.time = text_of(value);
       check_column(study.time, value.where);
     }},
    {"more_is", set_choice<&Study::more_is>},
    {"simulate_on",
     [](Study& study, const std::string&, const TomlValue& value) {
       study.simulate_on = text_of(value);
       check_cluster(study.simulate_on, value.where);
     }},
    {"simulate", set_choice<&Study::simulate>},
    {"repeats", set_count<&Study::repeats, 1>},
    {"warmup", set_count<&Study::warmup, 0>},
    {"simulate_beyond", set_count<&Study::simulate_beyond, 0>},
    {"simulate_numbers",
     [](Study& study, const std::string& key, const TomlValue& value) {
       study.simulate_numbers = value_as<bool>(key, value);
     }},
    {"columns",
     [](Study& study, const std::string& key, const TomlValue& value) {
       study.columns = value_as<std::vector<std::string>>(key, value);
       check_columns(study.columns, value.where);
     }},
};

void set_study_key(Study& study, const std::string& key, const TomlValue& value) {
  std::vector<std::string> known;
  for (const StudyKey& one : study_keys) {
    if (key == one.name) return one.set(study, key, value);
    known.emplace_back(one.name);
  }
  throw UserError("{}: a study has no key '{}'; {}", value.where, key, suggestion(key, known));
}

Study study_of(const Sections& all, const std::string& source) {
  Study study;
  for (const auto& [key, value] : all.plain) set_study_key(study, key, value);
  for (const auto& [key, value] : all.set) {
    check_key(key, text_of(value), value.where);
    study.changes.push_back(key + "=" + text_of(value));
  }
  add_grid(all.grid, study);
  add_points(all.points, study);
  for (const auto& [number, keys] : all.published) study.published.push_back(published_of(keys));
  for (const auto& [number, keys] : all.figures) study.figures.push_back(figure_of(keys));
  for (const auto& [number, keys] : all.grids) study.grids.push_back(grid_of(keys));
  for (const auto& [number, keys] : all.claims) study.claims.push_back(claim_of(keys));
  check_points(study, all, source);
  return study;
}

// Keys that change neither the work nor the result of a run, except for random numbers.
bool is_harmless(const std::string& key) {
  for (const char* harmless : {"seed", "name", "description", "train.log_every",
                               "train.checkpoint_every", "report.tensorboard"})
    if (key == harmless) return true;
  return false;
}

// All settings of a point; its own keys override those of the study.
std::map<std::string, std::string> settings_of(const Study& study, const StudyPoint& point) {
  std::map<std::string, std::string> all;
  for (const std::string& change : study.changes) {
    const size_t equals = change.find('=');
    all[change.substr(0, equals)] = change.substr(equals + 1);
  }
  for (const auto& [key, value] : point.keys) all[key] = value;
  all["config"] = point.config;
  return all;
}

// Published values belong to the study without [quick]. A point of the quick form with other
// settings, such as fewer epochs or a sample of the data, is not comparable with them.
void compare_with(const Study& full, Study& quick) {
  for (StudyPoint& point : quick.points) {
    const auto same = std::find_if(full.points.begin(), full.points.end(),
                                   [&](const auto& other) { return other.label == point.label; });
    if (same == full.points.end()) continue;  // no published values
    const auto ours = settings_of(quick, point), theirs = settings_of(full, *same);
    for (const auto& [key, value] : ours)
      if (const auto found = theirs.find(key);
          !is_harmless(key) && (found == theirs.end() || found->second != value))
        point.differs.push_back(key + "=" + value);
    for (const auto& [key, value] : theirs)
      if (!is_harmless(key) && !ours.contains(key)) point.differs.push_back(key);
  }
}

}  // namespace

void change_points(Study& study, const std::vector<std::string>& changes) {
  for (const std::string& change : changes) {
    const std::string key = change.substr(0, change.find('='));
    const auto& said = study.changes;
    const bool new_value = std::find(said.begin(), said.end(), change) == said.end();
    study.changes.push_back(change);
    if (!new_value || is_harmless(key)) continue;
    for (StudyPoint& point : study.points)
      if (point.value(key).empty()) point.differs.push_back(change);
  }
}

std::string StudyPoint::value(const std::string& key) const {
  for (const auto& [own, text] : keys)
    if (own == key) return text;
  return "";
}

int64_t StudyPoint::nodes() const {
  const std::string text = value(std::string(nodes_key));
  return text.empty() ? 1 : std::atoll(text.c_str());
}

bool is_selected(const StudyPoint& point, const Selection& where) {
  return std::all_of(where.begin(), where.end(), [&](const auto& wanted) {
    const std::string value = point.value(wanted.first);
    return std::find(wanted.second.begin(), wanted.second.end(), value) != wanted.second.end();
  });
}

Study parse_study(const std::string& text, const std::string& source, bool quick) {
  Sections all, replaced;
  for (const auto& [key, value] : parse_toml_lists(text, source)) {
    if (key.starts_with("quick."))
      sort_in(key.substr(6), value, replaced);
    else
      sort_in(key, value, all);
  }
  const Study full = study_of(all, source);
  check_full_study(full, all);
  refuse_in_quick(replaced);
  replace_by(all, replaced);
  Study small = study_of(all, source);
  check_runs(small);
  if (!quick) return full;
  compare_with(full, small);
  return small;
}

}  // namespace lockstep
