#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/text/load_tokenizer.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string tokenizer;
  bool gpt2 = false, bytes = false, decode = false, count = false, json = false;
  std::vector<std::string> words;
};

std::string input(const Options& options) {
  if (options.words.empty())
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  return fmt::format("{}", fmt::join(options.words, " "));
}

std::vector<int32_t> ids_of(const std::string& text) {
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto separates = [](char c) {
    return std::string_view(" ,\t\r\n[]").find(c) != std::string_view::npos;
  };
  while (true) {
    while (at < end && separates(*at)) ++at;
    if (at == end) return ids;
    int32_t id = 0;
    const auto [stop, error] = std::from_chars(at, end, id);
    if (error != std::errc() || (stop < end && !separates(*stop)))
      throw UserError("'{}' is not a list of token ids at character {}; expected whole numbers",
                      text.substr(0, 60), at - text.data() + 1);
    ids.push_back(id);
    at = stop;
  }
}

void tokenize(const Options& options) {
  if (options.gpt2 + options.bytes + !options.tokenizer.empty() > 1)
    throw UserError("give only one of --gpt2, --bytes and --tokenizer");
  const Tokenizer tokenizer = load_tokenizer(options.bytes               ? "bytes"
                                             : options.tokenizer.empty() ? "gpt2"
                                                                         : options.tokenizer,
                                             say_to_stderr);
  if (options.decode) {
    const std::string text = tokenizer.decode(ids_of(input(options)));
    fwrite(text.data(), 1, text.size(), stdout);
    fmt::print("\n");
    return;
  }
  const std::vector<int32_t> ids = tokenizer.encode(input(options));
  if (options.count) {
    fmt::print("{}\n", ids.size());
  } else if (options.json) {
    fmt::print("{}\n", nlohmann::json(ids).dump());
  } else {
    fmt::print("{}\n", fmt::join(ids, " "));
  }
}

}  // namespace

void add_tokenize_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("tokenize", R"(Turn text into token ids, and back.

Examples:
  lockstep tokenize --gpt2 "Hello, world!"
  lockstep tokenize --gpt2 --decode 15496 11 995 0
  lockstep tokenize --tokenizer runs/x/model --count < book.txt
)");
  verb->add_option("words", options->words,
                   "the text, or ids with --decode (default: standard input)");
  verb->add_flag("--gpt2", options->gpt2, "GPT-2's vocabulary (the default)");
  verb->add_flag("--bytes", options->bytes, "one token per byte");
  verb->add_option("--tokenizer", options->tokenizer, "a folder with vocab.json and merges.txt");
  verb->add_flag("--decode", options->decode, "convert ids to text");
  verb->add_flag("--count", options->count, "print only the number of tokens");
  verb->add_flag("--json", options->json, "print the ids as JSON");
  verb->callback([options] { tokenize(*options); });
}

}  // namespace lockstep
