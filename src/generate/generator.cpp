#include "generate/generator.h"

#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "base/error.h"

namespace lockstep {
namespace {

constexpr int64_t most_at_once = 64;

Gpt2 expect_gpt2(const std::vector<std::string>& lines) {
  const auto found = gpt2_of(lines);
  if (!found)
    throw UserError("only a network of one line \"gpt2 ...\" can generate text, not \"{}\"",
                    fmt::join(lines, "; "));
  return *found;
}

// Number of bytes at the end that belong to an incomplete UTF-8 character.
size_t unfinished(const std::string& text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

// Position of the first stop text; npos: none.
size_t first_stop(const std::string& text, const std::vector<std::string>& stops) {
  size_t first = std::string::npos;
  for (const std::string& stop : stops)
    if (!stop.empty()) first = std::min(first, text.find(stop));
  return first;
}

}  // namespace

Generator::Generator(const std::vector<std::string>& lines, const Parameters& parameters,
                     Device& device, const Tokenizer& tokenizer)
    : lines_(lines),
      parameters_(parameters),
      device_(device),
      tokenizer_(tokenizer),
      context_(expect_gpt2(lines).context),
      vocabulary_(expect_gpt2(lines).vocabulary),
      memory_(device.allocate(program(1).memory_bytes())) {
  if (tokenizer.size() > vocabulary_)
    throw UserError(
        "the tokenizer has {} tokens, but the model knows only {}; use the model's own tokenizer",
        tokenizer.size(), vocabulary_);
}

Program& Generator::program(int64_t positions) {
  std::unique_ptr<Program>& found = programs_[positions];
  if (!found)
    found = std::make_unique<Program>(Network(lines_, Shape{positions}),
                                      LossKind::softmax_cross_entropy, device_, 1);
  return *found;
}

// In blocks of powers of two, so that a few programs serve all lengths.
void Generator::feed(std::span<const int32_t> tokens) {
  ENSURE(past_ + static_cast<int64_t>(tokens.size()) <= context_);
  while (!tokens.empty()) {
    const size_t count = std::bit_floor(std::min(tokens.size(), static_cast<size_t>(most_at_once)));
    std::vector<float> ids(tokens.begin(), tokens.begin() + static_cast<int64_t>(count));
    Program& some = program(static_cast<int64_t>(count));
    some.extend(parameters_, ids.data(), past_, memory_);
    const std::span<const float> last = some.outputs().last(static_cast<size_t>(vocabulary_));
    // Without scores of tokens that the tokenizer does not have: they are never drawn.
    scores_.assign(last.begin(), last.begin() + tokenizer_.size());
    past_ += static_cast<int64_t>(count);
    tokens = tokens.subspan(count);
  }
}

std::vector<float> Generator::scores(std::span<const int32_t> tokens) {
  past_ = 0;
  feed(tokens);
  return scores_;
}

Generation Generator::run(const std::string& prompt, const GenerationOptions& options,
                          const Stream& stream) {
  const WallClock clock;
  const double start = clock.seconds();
  Generation result;
  std::vector<int32_t> tokens = tokenizer_.encode(prompt);
  if (tokens.empty()) tokens = {tokenizer_.end_of_text()};
  result.prompt_tokens = static_cast<int64_t>(tokens.size());
  const int64_t room = std::max<int64_t>(1, context_ - 1);
  if (result.prompt_tokens > room) {
    result.dropped_tokens = result.prompt_tokens - room;
    tokens.erase(tokens.begin(), tokens.begin() + result.dropped_tokens);
  }
  past_ = 0;
  feed(tokens);
  result.prompt_seconds = clock.seconds() - start;
  Sampler sampler(options.sampling);
  size_t shown = 0;
  size_t longest_stop = 0;
  for (const std::string& stop : options.stops) longest_stop = std::max(longest_stop, stop.size());
  const auto show = [&](size_t end) {
    if (stream && end > shown) stream(result.text.substr(shown, end - shown));
    shown = std::max(shown, end);
  };
  result.ending = "length";
  while (result.tokens < options.max_tokens) {
    const int32_t token = sampler.next(scores_, tokens);
    if (token == tokenizer_.end_of_text()) {
      result.ending = "end-of-text";
      break;
    }
    tokens.push_back(token);
    ++result.tokens;
    result.text += tokenizer_.token_bytes(token);
    const size_t stop = first_stop(result.text, options.stops);
    if (stop != std::string::npos) {
      result.text.resize(stop);
      result.ending = "stop";
      break;
    }
    // Holds back incomplete characters and what could be the beginning of a stop text.
    const size_t held = std::max(unfinished(result.text), longest_stop > 0 ? longest_stop - 1 : 0);
    show(result.text.size() - std::min(held, result.text.size()));
    if (result.tokens == options.max_tokens) break;
    if (past_ == context_) {  // the context is full: restart from its last half
      past_ = 0;
      const auto kept = static_cast<size_t>((context_ + 1) / 2);
      feed(std::span(tokens).last(std::min(kept, tokens.size())));
    } else {
      feed(std::span(&token, 1));
    }
  }
  show(result.text.size());
  result.seconds = clock.seconds() - start - result.prompt_seconds;
  return result;
}

}  // namespace lockstep
