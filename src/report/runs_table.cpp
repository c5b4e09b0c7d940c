#include "report/runs_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/names.h"
#include "report/numbers.h"

namespace lockstep {
namespace {

std::string counted(const std::optional<double>& value) { return value ? count_text(*value) : ""; }
std::string measured(const std::optional<double>& value) {
  return value ? number_text(*value) : "";
}

// "iris" of "iris (shipped, 150), split as ..."
std::string short_data(const std::string& data) { return data.substr(0, data.find(" (")); }

using Tiles = std::vector<std::pair<std::string, std::string>>;
using Group = std::pair<std::string, RunKind>;  // data, kind

void add_best(const std::vector<RunRecord>& runs, std::optional<double> RunRecord::*figure,
              std::string (*shown)(double), const std::string& what, Tiles& tiles) {
  constexpr size_t most_groups = 3;  // the table has the rest
  std::map<Group, double> best;
  std::map<std::string, std::string> full_names;  // by short name
  bool ambiguous = false;
  for (const RunRecord& run : runs) {
    if (!(run.*figure)) continue;
    const auto [at, is_new] = best.try_emplace({run.data, run.kind}, *(run.*figure));
    at->second = std::max(at->second, *(run.*figure));
    const auto [name, first] = full_names.try_emplace(short_data(run.data), run.data);
    ambiguous = ambiguous || name->second != run.data;
  }
  if (best.size() > most_groups) return;
  for (const auto& [group, value] : best) {
    const auto& [data, kind] = group;
    const std::string on =
        data.empty() ? "" : ", " + printable(ambiguous ? data : short_data(data));
    tiles.emplace_back(shown(value), fmt::format("{}{} ({})", what, on, kind_name(kind)));
  }
}

}  // namespace

const std::vector<std::string>& batch_columns() {
  static const std::vector<std::string> all = {"ranks", "batch per rank", "global batch",
                                               "learning rate"};
  return all;
}

std::vector<std::string> batch_cells(const RunRecord& run) {
  const bool all = run.full_batch;
  return {count_text(static_cast<double>(run.ranks)),
          run.batch_per_rank ? count_text(*run.batch_per_rank)
          : all              ? "all"
                             : "",
          run.global_batch ? count_text(*run.global_batch)
          : all            ? "all"
                           : "",
          counted(run.learning_rate)};
}

Table runs_table(const std::vector<RunRecord>& runs, const std::string& title) {
  Table table{.caption = title, .head = {"run", "kind"}, .rows = {}, .note = ""};
  table.head.insert(table.head.end(), batch_columns().begin(), batch_columns().end());
  for (const char* column :
       {"epochs", "test accuracy", "test loss", "samples/s", "total s", "data"})
    table.head.emplace_back(column);
  for (const RunRecord& run : runs) {
    std::vector<std::string> row = {printable(run.name), kind_name(run.kind)};
    const auto cells = batch_cells(run);
    row.insert(row.end(), cells.begin(), cells.end());
    for (const std::string& cell :
         {counted(run.epochs), run.test_accuracy ? percent_text(*run.test_accuracy) : "",
          measured(run.test_loss), measured(run.samples_per_second), measured(run.total_seconds),
          printable(run.data)})
      row.push_back(cell);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table shares_table(const std::vector<RunRecord>& runs) {
  Table table{.caption = "How ranks spend their time",
              .head = {"run", "kind", "computing", "communication", "waiting", "loading"},
              .rows = {},
              .note = ""};
  for (const RunRecord& run : runs) {
    if (run.shares.empty()) continue;
    std::vector<std::string> row = {printable(run.name), kind_name(run.kind)};
    for (const double share : run.shares) row.push_back(percent_text(share));
    table.rows.push_back(std::move(row));
    if (run.diagnosis.empty()) continue;
    table.note += (table.note.empty() ? "" : " ") + printable(run.name + ": " + run.diagnosis);
    if (!run.diagnosis.ends_with('?') && !run.diagnosis.ends_with('.')) table.note += ".";
  }
  return table;
}

Tiles tiles_of(const std::vector<RunRecord>& runs, size_t studies) {
  Tiles tiles;
  const auto add_count = [&](size_t count, const std::string& word) {
    const std::string text = plural(static_cast<int64_t>(count), word);
    const size_t space = text.find(' ');
    tiles.emplace_back(text.substr(0, space), text.substr(space + 1));
  };
  if (studies > 0) add_count(studies, "study");
  std::map<RunKind, std::pair<size_t, double>> kinds;  // number of runs, seconds
  for (const RunRecord& run : runs) {
    ++kinds[run.kind].first;
    kinds[run.kind].second += run.total_seconds.value_or(0);
  }
  for (const auto& [kind, sums] : kinds)
    add_count(sums.first, std::string(kind_name(kind)) + " run");
  add_best(runs, &RunRecord::test_accuracy, percent_text, "best test accuracy", tiles);
  add_best(runs, &RunRecord::samples_per_second, number_text, "samples/s of the fastest run",
           tiles);
  for (const auto& [kind, sums] : kinds)
    if (sums.second > 0)
      tiles.emplace_back(number_text(sums.second) + " s",
                         fmt::format("all {} runs, added up", kind_name(kind)));
  return tiles;
}

}  // namespace lockstep
