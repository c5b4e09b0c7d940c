// Posts, and who follows whom: the data of a recommender.

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/with_commas.h"
#include "data/formats/csv.h"
#include "data/posts/post_dataset.h"
#include "data/posts/synthetic.h"
#include "data/sources/source.h"
#include "os/files.h"

namespace lockstep {
namespace {

constexpr uint64_t largest_file = uint64_t{4} << 30;
constexpr int64_t synthetic_size = 94'000, synthetic_users = 419;

std::string text_of(const fs::path& path) {
  const std::vector<uint8_t> bytes = read_maybe_gzip(path, largest_file);
  return {bytes.begin(), bytes.end()};
}

// The first of these files that the folder has, plain or .gz.
std::optional<fs::path> find_file(const fs::path& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    for (const char* end : {"", ".gz"})
      if (fs::exists(folder / (name + end))) return folder / (name + end);
  return std::nullopt;
}

fs::path need_file(const fs::path& folder, const std::vector<std::string>& names) {
  if (const auto found = find_file(folder, names)) return *found;
  throw UserError(
      "{} has no {} (or .gz); expected there: posts.csv with the columns user and text, "
      "follows.csv with user and followee",
      folder.string(), fmt::join(names, " or "));
}

// Calls use(first, second) for each row of a CSV file. Each column may have one of several names.
template <typename Use>
void read_pairs(const fs::path& path, const std::vector<std::string>& first_names,
                const std::vector<std::string>& second_names, const Use& use) {
  const std::string content = text_of(path);
  CsvReader reader(content, path.string());
  std::vector<std::string> header, fields;
  if (!reader.next(header)) throw UserError("{} is empty", path.string());
  const auto column = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto found = std::find(header.begin(), header.end(), name);
      if (found != header.end()) return static_cast<size_t>(found - header.begin());
    }
    throw UserError("{}, line 1: there is no column '{}'; found: {}", path.string(),
                    fmt::join(names, "' or '"), fmt::join(header, ", "));
  };
  const size_t first = column(first_names), second = column(second_names);
  while (reader.next(fields)) {
    if (fields.size() != header.size())
      throw UserError("{}, line {}: {} fields, the header has {}", path.string(), reader.line(),
                      fields.size(), header.size());
    use(fields[first], fields[second]);
  }
}

FollowGraph read_graph(const fs::path& folder) {
  const std::vector<std::string> user_names = {"user", "follower", "screen_name", "user_id"};
  const fs::path path = need_file(folder, {"follows.csv"});
  std::vector<std::pair<std::string, std::string>> follows;
  read_pairs(path, user_names, {"followee", "followed"},
             [&](const std::string& a, const std::string& b) { follows.emplace_back(a, b); });
  if (follows.empty())
    throw UserError("{} has no follows below its header: there is nothing to learn from",
                    path.string());
  std::map<std::string, int64_t> index;
  for (const auto& [a, b] : follows) index[a] = index[b] = 0;
  std::vector<std::string> names;
  for (auto& [name, number] : index) {
    number = static_cast<int64_t>(names.size());
    names.push_back(name);
  }
  FollowGraph graph(std::move(names));
  for (const auto& [a, b] : follows)
    if (a != b) graph.add(index[a], index[b]);
  if (const auto users = find_file(folder, {"users.csv"}))
    read_pairs(*users, {"user", "screen_name", "user_id"}, {"group", "party"},
               [&](const std::string& name, const std::string& group) {
                 if (const auto found = index.find(name); found != index.end())
                   graph.set_group(found->second, group);
               });
  return graph;
}

}  // namespace

SourceData load_posts(const DataConfig& config, const Say& say, const OwnPart*) {
  std::vector<int32_t> authors;
  std::vector<std::string> texts;
  std::optional<FollowGraph> graph;
  std::string origin = "synthetic";
  if (config.path.empty()) {
    SyntheticPosts made = synthetic_posts(synthetic_size, synthetic_users, 1);
    authors = std::move(made.authors);
    texts = std::move(made.texts);
    graph = std::move(made.graph);
  } else {
    const fs::path folder(config.path);
    if (!fs::is_directory(folder))
      throw UserError(
          "data.path = '{}' is not a folder; expected one with posts.csv and follows.csv",
          config.path);
    origin = config.path;
    graph = read_graph(folder);
    std::map<std::string, int32_t> index;
    for (size_t i = 0; i < graph->accounts().size(); ++i)
      index[graph->accounts()[i]] = static_cast<int32_t>(i);
    int64_t strangers = 0;
    const fs::path path = need_file(folder, {"posts.csv", "tweets.csv"});
    read_pairs(path, {"user", "screen_name", "user_id"}, {"text"},
               [&](const std::string& user, const std::string& text) {
                 const auto found = index.find(user);
                 if (found == index.end()) {
                   ++strangers;
                   return;
                 }
                 authors.push_back(found->second);
                 texts.push_back(text);
               });
    if (authors.empty())
      throw UserError("{}: none of its {} posts is by a user of follows.csv", path.string(),
                      with_commas(strangers));
    if (strangers > 0)
      say(fmt::format("{}: {} posts are by users that are not in follows.csv; left out",
                      path.string(), with_commas(strangers)));
  }
  std::vector<bool> has_posts(graph->accounts().size());
  for (const int32_t author : authors) has_posts[static_cast<size_t>(author)] = true;
  const auto silent = std::count(has_posts.begin(), has_posts.end(), false);
  SourceData data;
  data.provenance = fmt::format(
      "posts ({}, {} posts, {} accounts{}, {} follows)", origin,
      with_commas(static_cast<int64_t>(authors.size())), with_commas(graph->size()),
      silent > 0 ? fmt::format(", {} without posts", silent) : "", with_commas(graph->edges()));
  SparseMatrix features =
      text_features(texts, config.features, config.vocabulary, config.loading_threads());
  graph->hide(config.hidden, static_cast<uint64_t>(config.split_seed));
  data.train_rows = static_cast<int64_t>(authors.size());
  data.samples = std::make_unique<PostDataset>(std::move(features), config.vocabulary,
                                               std::move(authors), std::move(*graph));
  return data;
}

}  // namespace lockstep
