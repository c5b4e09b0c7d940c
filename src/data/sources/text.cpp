#include "base/error.h"
#include "base/with_commas.h"
#include "data/fetch/fetch.h"
#include "data/formats/verified_file.h"
#include "data/sources/registry.h"
#include "data/split.h"
#include "data/text/documents.h"
#include "data/text/load_tokenizer.h"
#include "data/text/token_dataset.h"

namespace lockstep {
namespace {

// FNV-1a: distinguishes settings in the names of cached files.
uint64_t hash_of(const std::string& text, uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

// Cuts one text into train, validation and test, in this order.
TokenFile::Parts cut_text(const std::vector<int32_t>& tokens, const DataConfig& config) {
  const auto all = static_cast<int64_t>(tokens.size());
  const int64_t test = config.test != 0 ? part_size(config.test, all, "data.test") : 0;
  const int64_t validation =
      config.validation != 0 ? part_size(config.validation, all, "data.validation") : 0;
  if (test + validation >= all)
    throw UserError("data.test and data.validation leave none of {} tokens to train on",
                    with_commas(all));
  const auto first = tokens.begin(), middle = tokens.end() - test - validation,
             last = tokens.end() - test;
  return {{{first, middle}, {middle, last}, {last, tokens.end()}}};
}

TokenFile::Parts tokenize(const DataConfig& config, uint64_t seed, const Tokenizer& tokenizer,
                          std::string& note) {
  if (!is_text_table(config.path))
    return cut_text(tokenizer.encode(read_text(config.path)), config);
  TokenFile::Parts parts;
  for (const Document& document : read_documents(config, seed, note)) {
    std::vector<int32_t>& part = parts[static_cast<size_t>(document.part)];
    tokenizer.encode(document.text, part);
    part.push_back(tokenizer.end_of_text());
  }
  return parts;
}

// The file next to the tokens that says which rows were left out.
fs::path note_path(const fs::path& tokens) { return tokens.string() + ".note"; }

// Null if there are none, or if they are damaged or of another vocabulary.
std::unique_ptr<TokenFile> kept_tokens(const fs::path& path, int32_t vocabulary) {
  if (!fs::exists(path) || verify(path) != Verified::intact ||
      verify(note_path(path)) != Verified::intact)
    return nullptr;
  try {
    auto tokens = std::make_unique<TokenFile>(path);
    return tokens->vocabulary() == vocabulary ? std::move(tokens) : nullptr;
  } catch (const Failure&) {
    return nullptr;
  }
}

// The tokens of these settings, created once and cached.
std::unique_ptr<TokenFile> cached_tokens(const DataConfig& config, uint64_t seed,
                                         const Tokenizer& tokenizer, std::string& note) {
  std::string settings = fmt::format("{} {} {} {} {}", config.text_template, config.split_column,
                                     config.validation, config.test, seed);
  for (const auto& [name, content] : tokenizer.files()) settings += content;
  const std::string kind = is_text_table(config.path) ? "table" : "text";
  const fs::path folder = cache_folder() / "tokens";
  const fs::path path = folder / fmt::format("{}-{:016x}.tokens", sha256(config.path).substr(0, 32),
                                             hash_of(settings + kind));
  if (auto kept = kept_tokens(path, tokenizer.size())) {
    note = read_text(note_path(path));
    return kept;
  }
  note.clear();
  const TokenFile::Parts parts = tokenize(config, seed, tokenizer, note);
  make_folder(folder);
  // In a separate folder: several processes may create the same file at the same time.
  const ScratchFolder scratch(folder);
  const fs::path made = scratch.path() / path.filename();
  write_file(note_path(made), note);
  TokenFile::write(made, parts, tokenizer.size());
  install_verified(note_path(made), folder);
  install_verified(made, folder);
  return std::make_unique<TokenFile>(path);
}

fs::path text_path(const DataConfig& config, const Say& say) {
  switch (find_source(config.name).origin) {
    case Origin::own:
      return required_path(config, "a .txt, .csv or .jsonl file");
    case Origin::shipped:
      expect_no_path(config, "text");
      return shipped_folder() / "problems.csv";
    case Origin::fetched:
      break;
  }
  if (!config.path.empty()) return config.path;
  return cached_or_fetched(config.name, say) / "input.txt";
}

}  // namespace

SourceData load_text(const DataConfig& given, const Say& say, const OwnPart*) {
  DataConfig config = given;
  config.path = text_path(given, say);
  if (!fs::is_regular_file(config.path))
    throw UserError("data.path = \"{}\" is not a file; expected a .txt, .csv or .jsonl file",
                    config.path);
  if (config.stratified)
    throw UserError("data.stratified = true is not possible with text, which has no classes");
  const auto tokenizer = std::make_shared<const Tokenizer>(load_tokenizer(config.tokenizer, say));
  std::string note;
  auto tokens = cached_tokens(config, static_cast<uint64_t>(config.split_seed), *tokenizer, note);
  const int64_t training = tokens->size(0);
  std::array<int64_t, 3> sizes{tokens->size(0), tokens->size(1), tokens->size(2)};
  auto samples = std::make_unique<TokenDataset>(std::move(tokens), config.context,
                                                config.stride > 0 ? config.stride : config.context);
  constexpr const char* names[] = {"training", "validation", "test"};
  for (size_t part = 0; part < sizes.size(); ++part)
    if (samples->rows(part) == 0 && (part == 0 || sizes[part] > 0))
      throw UserError(
          "the {} part of {} has {} tokens, fewer than the {} that one block of data.context = {} "
          "needs",
          names[part], config.path, with_commas(sizes[part]), config.context + 1, config.context);
  SourceData data;
  data.train_rows = samples->rows(0);
  data.validation_rows = samples->rows(1);
  data.is_cut = true;
  data.tokenizer = tokenizer;
  data.provenance =
      fmt::format("{} ({} tokens by {}{}; {} + {} + {} blocks of {})",
                  given.path.empty() ? given.name : fs::path(given.path).filename().string(),
                  with_commas(training + sizes[1] + sizes[2]), given.tokenizer, note,
                  with_commas(data.train_rows), with_commas(data.validation_rows),
                  with_commas(samples->rows(2)), config.context);
  data.samples = std::move(samples);
  return data;
}

}  // namespace lockstep
