#include "parallel/pipeline/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace lockstep {
namespace {

using enum Action::Kind;

// The k-th forward (backward) pass of a stage: rounds of `stages` micro-batches through each chunk.
Action interleaved_action(const PipelineShape& shape, Action::Kind kind, int64_t k) {
  const int64_t round = int64_t{shape.stages} * shape.chunks;
  const int64_t in_round = k % round;
  const auto turn = static_cast<int>(in_round / shape.stages);
  return {.kind = kind,
          .chunk = kind == forward ? turn : shape.chunks - 1 - turn,
          .micro_batch = k / round * shape.stages + in_round % shape.stages};
}

Action name_of(const PipelineShape& shape, Action::Kind kind, int64_t k) {
  if (shape.schedule == Schedule::interleaved) return interleaved_action(shape, kind, k);
  return {.kind = kind, .chunk = 0, .micro_batch = k};
}

// Number of forward passes before the first backward pass.
int64_t warm_up(const PipelineShape& shape, int stage) {
  const int64_t behind = shape.stages - 1 - stage;
  switch (shape.schedule) {
    case Schedule::gpipe:
      return shape.micro_batches;
    case Schedule::one_f_one_b:
      return behind;
    case Schedule::interleaved:
      return 2 * behind + int64_t{shape.chunks - 1} * shape.stages;
  }
  return 0;
}

}  // namespace

void check(const PipelineShape& shape) {
  if (shape.schedule != Schedule::interleaved) return;
  if (shape.chunks < 2)
    throw UserError(
        "parallel.schedule = \"interleaved\" needs parallel.chunks = 2 or more, not {}; with one "
        "part per rank use \"1f1b\"",
        shape.chunks);
  if (shape.micro_batches % shape.stages != 0)
    throw UserError(
        "parallel.schedule = \"interleaved\" needs a number of micro-batches that is a multiple of "
        "the {} stages, not {}; set parallel.micro_batches = {}, or use \"1f1b\"",
        shape.stages, shape.micro_batches, (shape.micro_batches / shape.stages + 1) * shape.stages);
}

std::vector<Action> actions_of(const PipelineShape& shape, int stage) {
  const int64_t passes = shape.micro_batches * shape.chunks;
  const int64_t ahead = std::min(warm_up(shape, stage), passes);
  std::vector<Action> actions;
  int64_t forwards = 0, backwards = 0;
  const auto go = [&](Action::Kind kind) {
    actions.push_back(name_of(shape, kind, kind == forward ? forwards++ : backwards++));
  };
  while (forwards < ahead) go(forward);
  while (forwards < passes) {
    go(forward);
    go(backward);
  }
  while (backwards < passes) go(backward);
  return actions;
}

double bubble_of(const PipelineShape& shape) {
  const double waits = static_cast<double>(shape.stages - 1) / shape.chunks;
  return waits / (waits + static_cast<double>(shape.micro_batches));
}

int64_t most_in_flight(const std::vector<Action>& actions, int chunk) {
  int64_t now = 0, most = 0;
  for (const Action& action : actions) {
    if (action.chunk != chunk) continue;
    now += action.kind == forward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

int64_t most_held(const std::vector<Action>& actions) {
  int64_t newest = -1, most = 0;
  std::set<std::pair<int, int64_t>> in_flight;  // chunk, micro-batch
  std::multiset<int64_t> held;
  for (const Action& action : actions) {
    if (action.kind == forward) {
      newest = std::max(newest, action.micro_batch);
      held.insert(action.micro_batch);
    }
    most = std::max(most, newest - *held.begin() + 1);
    if (action.kind == backward) held.erase(held.find(action.micro_batch));
    // Between its chunks a micro-batch is on other ranks, but its samples are needed again.
  }
  return most;
}

std::optional<std::string> deadlock_of(const std::vector<std::vector<Action>>& by_stage) {
  const auto stages = static_cast<int>(by_stage.size());
  int chunks = 0;
  for (const auto& actions : by_stage)
    for (const Action& action : actions) chunks = std::max(chunks, action.chunk + 1);
  std::set<std::tuple<Action::Kind, int, int64_t>> done;  // by part of the network
  std::vector<size_t> next(by_stage.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < stages; ++stage) {
      const auto& actions = by_stage[static_cast<size_t>(stage)];
      size_t& at = next[static_cast<size_t>(stage)];
      while (at < actions.size()) {
        const auto [kind, chunk, micro_batch] = actions[at];
        const int part = chunk * stages + stage;
        const bool is_last = part == stages * chunks - 1;
        const bool ready = kind == forward
                               ? part == 0 || done.contains({forward, part - 1, micro_batch})
                               : done.contains({forward, part, micro_batch}) &&
                                     (is_last || done.contains({backward, part + 1, micro_batch}));
        if (!ready) break;
        done.insert({kind, part, micro_batch});
        ++at;
        moved = true;
      }
    }
  }
  std::string waiting;
  for (int stage = 0; stage < stages; ++stage) {
    const size_t at = next[static_cast<size_t>(stage)];
    const auto& actions = by_stage[static_cast<size_t>(stage)];
    if (at < actions.size())
      waiting += fmt::format("{}stage {} waits at {}", waiting.empty() ? "" : ", ", stage,
                             to_text({actions[at]}));
  }
  if (waiting.empty()) return std::nullopt;
  return waiting;
}

std::string to_text(const std::vector<Action>& actions) {
  bool has_chunks = false;
  for (const Action& action : actions) has_chunks = has_chunks || action.chunk > 0;
  std::string text;
  for (const Action& action : actions) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", action.kind == forward ? "F" : "B");
    if (has_chunks) text += fmt::format("{}.", action.chunk);
    text += fmt::format("{}", action.micro_batch);
  }
  return text;
}

}  // namespace lockstep
