#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

namespace lockstep {

// How the next token is drawn from the network's scores.
struct Sampling {
  double temperature = 1;         // 0: always the best token
  int64_t top_k = 0;              // only the k best tokens; 0: all
  double top_p = 1;               // only the best tokens with this total probability
  double repetition_penalty = 1;  // lowers the scores of tokens that have occurred
  uint64_t seed = 1;
};

// Draws tokens in sequence; the same seed gives the same tokens.
class Sampler {
 public:
  explicit Sampler(const Sampling& sampling)
      : s_(sampling), rng_(sampling.seed, Purpose::sampling) {}

  int32_t next(std::span<const float> scores, std::span<const int32_t> so_far);

 private:
  struct Candidate {
    float score;
    int32_t token;
  };

  Sampling s_;
  Rng rng_;
  std::vector<Candidate> candidates_;
};

}  // namespace lockstep
