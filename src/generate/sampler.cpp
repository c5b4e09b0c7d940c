#include "generate/sampler.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

int32_t Sampler::next(std::span<const float> scores, std::span<const int32_t> so_far) {
  candidates_.clear();
  for (size_t i = 0; i < scores.size(); ++i)  // NaN is never drawn
    candidates_.push_back({std::isnan(scores[i]) ? -INFINITY : scores[i], static_cast<int32_t>(i)});
  if (s_.repetition_penalty != 1) {
    std::vector<int32_t> there(so_far.begin(), so_far.end());
    std::sort(there.begin(), there.end());
    there.erase(std::unique(there.begin(), there.end()), there.end());
    const auto penalty = static_cast<float>(s_.repetition_penalty);
    for (const int32_t token : there) {
      float& score = candidates_[static_cast<size_t>(token)].score;
      score = score > 0 ? score / penalty : score * penalty;
    }
  }
  // Ties go to the lower token, so that results are reproducible.
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.token < b.token;
  };
  if (s_.temperature == 0)
    return std::min_element(candidates_.begin(), candidates_.end(), better)->token;
  if (s_.top_k > 0 && s_.top_k < static_cast<int64_t>(candidates_.size())) {
    std::nth_element(candidates_.begin(), candidates_.begin() + s_.top_k, candidates_.end(),
                     better);
    candidates_.resize(static_cast<size_t>(s_.top_k));
  }
  std::sort(candidates_.begin(), candidates_.end(), better);
  std::vector<double> shares;
  double sum = 0;
  for (const Candidate& c : candidates_) {
    shares.push_back(std::exp((c.score - candidates_[0].score) / s_.temperature));
    sum += shares.back();
  }
  if (s_.top_p < 1) {
    double kept = 0;
    size_t count = 0;
    while (count < shares.size() && kept < s_.top_p * sum) kept += shares[count++];
    shares.resize(count);
    sum = kept;
  }
  double left = rng_.uniform() * sum;
  for (size_t i = 0; i < shares.size(); ++i)
    if ((left -= shares[i]) < 0) return candidates_[i].token;
  return candidates_[shares.size() - 1].token;
}

}  // namespace lockstep
