#include "data/folds.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "base/with_commas.h"
#include "data/permutation.h"

namespace lockstep {
namespace {

enum Stream : uint64_t { fold_stream = 16, part_stream = 17 };

std::vector<std::vector<int64_t>> by_class(const Dataset& data, std::span<const int64_t> rows) {
  std::vector<std::vector<int64_t>> groups(std::max<size_t>(1, data.classes().size()));
  for (const int64_t row : rows) groups[static_cast<size_t>(data.label(row))].push_back(row);
  return groups;
}

// Deals rows out round-robin, class by class, each class shuffled.
std::vector<std::vector<int64_t>> deal(const std::vector<std::vector<int64_t>>& groups,
                                       int64_t hands, uint64_t seed, Stream stream) {
  std::vector<std::vector<int64_t>> dealt(static_cast<size_t>(hands));
  size_t next = 0;
  for (size_t c = 0; c < groups.size(); ++c) {
    std::vector<int64_t> rows = groups[c];
    Rng rng(seed, Purpose::split, stream, c);
    shuffle(rows, rng);
    for (const int64_t row : rows) dealt[next++ % dealt.size()].push_back(row);
  }
  for (auto& hand : dealt) std::sort(hand.begin(), hand.end());
  return dealt;
}

}  // namespace

std::vector<Fold> make_folds(const Dataset& data, std::span<const int64_t> rows, int64_t folds,
                             uint64_t seed, const std::string& where) {
  if (folds < 2) throw UserError("crossval.folds = {} is not possible; expected at least 2", folds);
  if (folds > static_cast<int64_t>(rows.size()))
    throw UserError("crossval.folds = {} is more than the {} samples{}", folds,
                    with_commas(static_cast<int64_t>(rows.size())), where);
  const auto groups = by_class(data, rows);
  for (size_t c = 0; c < data.classes().size() && !data.multi_label(); ++c)
    if (!groups[c].empty() && static_cast<int64_t>(groups[c].size()) < folds)
      throw UserError(
          "crossval.folds = {} is more than the {} samples of class '{}'{}: some folds would have "
          "none of it to test on; use at most {} folds",
          folds, groups[c].size(), data.classes()[c], where, groups[c].size());
  const auto tests = deal(groups, folds, seed, fold_stream);
  std::vector<Fold> all;
  for (const std::vector<int64_t>& test : tests) {
    Fold fold{.train = {}, .test = test};
    std::set_difference(rows.begin(), rows.end(), test.begin(), test.end(),
                        std::back_inserter(fold.train));
    all.push_back(std::move(fold));
  }
  return all;
}

std::vector<std::vector<int64_t>> make_parts(const Dataset& data, int64_t parts, uint64_t seed) {
  const std::vector<int64_t> rows = natural_order(data.size());
  if (parts > data.size())
    throw UserError("crossval.nodes = {} is more than the {} training samples", parts,
                    with_commas(data.size()));
  return deal(by_class(data, rows), parts, seed, part_stream);
}

}  // namespace lockstep
