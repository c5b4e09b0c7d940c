#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest.h"
#include "saved_data.h"
#include "text.h"
#include "train/recommend/recommender.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string run, user;
  int64_t top = 10;
  bool json = false;
};

void for_user(const Options& options, const SavedRun& run, const PostDataset& posts,
              const std::string& data) {
  const FollowGraph& graph = posts.graph();
  const std::vector<std::string>& names = graph.accounts();
  const auto found = std::find(names.begin(), names.end(), options.user);
  if (found == names.end())
    throw UserError("there is no user '{}' in {}; {}", options.user, data,
                    suggestion(options.user, names));
  const int64_t user = found - names.begin();
  const std::unique_ptr<Device> device = make_device(run.config.device);
  run.parameters->move_to(*device);
  Program program(*run.network, LossKind::sigmoid_cross_entropy, *device, 256, true);
  const auto best = network_scores(posts, program, *run.parameters).best(user, options.top);
  nlohmann::ordered_json json{{"user", options.user}, {"data", data}};
  std::vector<std::vector<std::string>> rows = {{"", "account", "probability", "group", ""}};
  for (size_t i = 0; i < best.size(); ++i) {
    const auto account = static_cast<size_t>(best[i].account);
    const bool right = graph.hides(user, best[i].account);
    json["accounts"].push_back(
        {{"account", names[account]}, {"probability", best[i].score}, {"hidden_follow", right}});
    rows.push_back({std::to_string(i + 1), names[account], percent(best[i].score),
                    graph.groups()[account], right ? "follows it (was hidden)" : ""});
  }
  if (options.json)
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("Accounts {} may want to follow, by {}\n{}", options.user, data, table(rows));
}

void measure(const Options& options, const SavedRun& run, const PostDataset& posts,
             const std::string& data) {
  const std::unique_ptr<Device> device = make_device(run.config.device);
  run.parameters->move_to(*device);
  const std::vector<NamedFigure> figures =
      recommendation_figures(posts, *run.network, *run.parameters, *device, options.top);
  if (options.json) {
    nlohmann::ordered_json json{{"data", data}, {"top", options.top}};
    for (const NamedFigure& f : figures) json[f.name] = f.value;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  std::vector<std::vector<std::string>> rows = {{"data", data}};
  for (const NamedFigure& f : figures) rows.push_back({f.name, fmt::format("{:.4f}", f.value)});
  fmt::print("{}", table(rows));
}

void recommend(const Options& options) {
  const SavedRun run = open_run(options.run);
  const SavedData data = load_for(run, "", SplitPart::train);
  const PostDataset* posts = posts_of(*data.part);
  if (!posts)
    throw UserError("{} was trained on {}, which has no accounts to recommend; train a tweets-mlp",
                    run.path.string(), run.config.data.name);
  if (options.user.empty())
    measure(options, run, *posts, data.splits.provenance);
  else
    for_user(options, run, *posts, data.splits.provenance);
}

}  // namespace

void add_recommend_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "recommend", R"(Recommend accounts to follow, with a network trained on posts.

Examples:
  lockstep recommend runs/tweets-mlp-1 --user user007 --top 10
  lockstep recommend runs/tweets-mlp-1 --top 5        precision, recall and hit rate over all users
)");
  verb->add_option("run", options->run, "folder of the run (default: runs/latest)");
  verb->add_option("--user", options->user,
                   "user to recommend to (default: evaluate over all users)");
  verb->add_option("--top", options->top, "number of accounts")->check(CLI::Range(1, 100000));
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { recommend(*options); });
}

}  // namespace lockstep
