#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "generate/sampler.h"
#include "nn/gpt2.h"
#include "nn/program.h"
#include "text/tokenizer.h"

namespace lockstep {

struct GenerationOptions {
  int64_t max_tokens = 100;
  std::vector<std::string> stops;  // generation ends before the first of these texts
  Sampling sampling;
};

struct Generation {
  std::string text;  // without the prompt
  int64_t prompt_tokens = 0, dropped_tokens = 0, tokens = 0;
  std::string ending;  // length, end-of-text or stop
  double prompt_seconds = 0, seconds = 0;
};

// Continues texts with a trained GPT-2. Results of earlier positions are cached, so that a token
// reads every weight once.
class Generator {
 public:
  // The parameters must be those of a network of these lines.
  Generator(const std::vector<std::string>& lines, const Parameters& parameters, Device& device,
            const Tokenizer& tokenizer);

  // Receives the text as it is generated, in whole characters.
  using Stream = std::function<void(const std::string& text)>;
  // If the prompt leaves no room in the context, only its end is used.
  Generation run(const std::string& prompt, const GenerationOptions& options,
                 const Stream& stream = {});

  // Scores of all candidates for the token after these.
  std::vector<float> scores(std::span<const int32_t> tokens);

 private:
  Program& program(int64_t positions);
  void feed(std::span<const int32_t> tokens);

  std::vector<std::string> lines_;
  const Parameters& parameters_;
  Device& device_;
  const Tokenizer& tokenizer_;
  int64_t context_, vocabulary_;
  std::map<int64_t, std::unique_ptr<Program>> programs_;  // by number of positions per call
  DeviceMemory memory_;
  int64_t past_ = 0;
  std::vector<float> scores_;
};

}  // namespace lockstep
