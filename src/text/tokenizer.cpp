#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <unordered_map>

#include "base/error.h"
#include "base/strict_json.h"
#include "text/merges.h"
#include "text/pretokens.h"
#include "text/unicode.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr const char* end_name = "<|endoftext|>";
constexpr int32_t most_tokens = 1 << 24;  // ids are passed as floats, exact up to here

// Vocabulary files spell bytes as printable characters: a byte that is one as itself, the others as
// U+0100 onwards.
struct ByteSpelling {
  std::array<uint32_t, 256> points{};
  std::unordered_map<uint32_t, uint8_t> bytes;

  ByteSpelling() {
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
      points[byte] = printable ? byte : next++;
      bytes[points[byte]] = static_cast<uint8_t>(byte);
    }
  }
};

const ByteSpelling& spelling() {
  static const ByteSpelling all;
  return all;
}

std::string spelled(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(text, spelling().points[static_cast<uint8_t>(byte)]);
  return text;
}

// False if a character of the text stands for no byte.
bool unspell(std::string_view text, std::string& bytes) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const auto found = spelling().bytes.find(point.value);
    if (point.bytes == 0 || found == spelling().bytes.end()) return false;
    bytes += static_cast<char>(found->second);
    at += point.bytes;
  }
  return true;
}

// Calls use(line, line number from 1) for each line with a merge.
template <typename Use>
void for_each_merge(const std::string& text, Use use) {
  std::istringstream lines(text);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty() && !line.starts_with("#version")) use(line, number);
  }
}

fs::path first_of(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (fs::exists(folder / name)) return folder / name;
  return {};
}

}  // namespace

struct Tokenizer::Tables {
  std::vector<std::string> bytes;  // of each token
  std::array<int32_t, 256> of_byte{};
  Merges merges{0};
  int32_t end = 0;
  std::string vocabulary, merge_lines;  // contents of the files

  void set_vocabulary(const Json& json, const std::string& where);
  void set_merges(const std::string& text, const std::string& where);
};

void Tokenizer::Tables::set_vocabulary(const Json& json, const std::string& where) {
  if (json.size() < 256 || json.size() >= most_tokens)
    throw UserError("{}: {} tokens; expected 256 (one per byte) up to {}", where, json.size(),
                    most_tokens);
  bytes.assign(json.size(), "");
  std::vector<bool> known(json.size());
  of_byte.fill(-1);
  end = -1;
  for (const auto& [text, value] : json.items()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() >= json.size())
      throw UserError("{}: the id of '{}' is {}; expected 0 to {}", where, text, value.dump(),
                      json.size() - 1);
    const auto id = value.get<size_t>();
    if (known[id]) throw UserError("{}: the id {} occurs twice", where, id);
    known[id] = true;
    if (text == end_name) end = static_cast<int32_t>(id);
    if (!unspell(text, bytes[id])) bytes[id] = text;  // a special token
    if (bytes[id].size() == 1)
      of_byte[static_cast<uint8_t>(bytes[id][0])] = static_cast<int32_t>(id);
  }
  for (size_t byte = 0; byte < of_byte.size(); ++byte)
    if (of_byte[byte] < 0)
      throw UserError("{}: no token stands for byte {}; is it a byte-level vocabulary?", where,
                      byte);
  if (end < 0) end = of_byte[0];
}

void Tokenizer::Tables::set_merges(const std::string& text, const std::string& where) {
  std::unordered_map<std::string_view, int32_t> ids;
  for (size_t id = 0; id < bytes.size(); ++id) ids.emplace(bytes[id], static_cast<int32_t>(id));
  merges = Merges(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  std::vector<bool> made(bytes.size());
  for (const int32_t id : of_byte) made[static_cast<size_t>(id)] = true;
  for_each_merge(text, [&](const std::string& line, int64_t line_number) {
    const size_t space = line.find(' ');
    std::string left, right;
    if (space == std::string::npos || !unspell(line.substr(0, space), left) ||
        !unspell(line.substr(space + 1), right))
      throw UserError("{}, line {}: expected two tokens and a space between them", where,
                      line_number);
    const auto id_of = [&](const std::string& token) {
      const auto found = ids.find(token);
      if (found == ids.end())
        throw UserError("{}, line {}: '{}' is not in the vocabulary; do the files belong together?",
                        where, line_number, spelled(token));
      return found->second;
    };
    const int32_t a = id_of(left), b = id_of(right), joined = id_of(left + right);
    for (const int32_t part : {a, b})
      if (!made[static_cast<size_t>(part)])
        throw UserError("{}, line {}: '{}' is used before a line defines it", where, line_number,
                        spelled(bytes[static_cast<size_t>(part)]));
    made[static_cast<size_t>(joined)] = true;
    if (!merges.find(a, b)) merges.add(a, b, joined);
  });
}

Tokenizer::Tokenizer(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::bytes() {
  nlohmann::ordered_json vocabulary;
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[spelled(std::string(1, static_cast<char>(byte)))] = byte;
  return from_files(vocabulary.dump(), "#version: 0.2\n", "the byte tokenizer");
}

Tokenizer Tokenizer::from_files(const std::string& vocabulary, const std::string& merges,
                                const std::string& where) {
  auto tables = std::make_unique<Tables>();
  tables->set_vocabulary(parse_object<Json>(vocabulary, where + ": the vocabulary", 1), where);
  tables->set_merges(merges, where + ": the merges");
  tables->vocabulary = vocabulary;
  tables->merge_lines = merges;
  return Tokenizer(std::move(tables));
}

Tokenizer Tokenizer::read(const fs::path& folder) {
  const fs::path vocabulary = first_of(folder, {"vocab.json", "encoder.json"});
  const fs::path merges = first_of(folder, {"merges.txt", "vocab.bpe"});
  if (!vocabulary.empty() && !merges.empty())
    return from_files(read_text(vocabulary), read_text(merges), folder.string());
  const fs::path both = first_of(folder, {"tokenizer.json"});
  if (both.empty())
    throw UserError(
        "{} has no tokenizer; expected vocab.json and merges.txt, encoder.json and vocab.bpe, or "
        "tokenizer.json",
        folder.string());
  const Json json = parse_object<Json>(read_text(both), both.string(), 16);
  const auto model = json.find("model");
  if (model == json.end() || !model->is_object() || !model->contains("vocab") ||
      !model->contains("merges") || !(*model)["vocab"].is_object() ||
      !(*model)["merges"].is_array())
    throw UserError("{} holds no byte-pair model: 'model' needs 'vocab' and 'merges'",
                    both.string());
  std::string lines = "#version: 0.2\n";
  for (const Json& merge : (*model)["merges"]) {  // "a b", or since 2024 ["a", "b"]
    if (merge.is_string())
      lines += merge.get<std::string>() + "\n";
    else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
      lines += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
    else
      throw UserError("{}: a merge is neither \"a b\" nor [\"a\", \"b\"]", both.string());
  }
  return from_files((*model)["vocab"].dump(), lines, both.string());
}

int32_t Tokenizer::size() const { return static_cast<int32_t>(tables_->bytes.size()); }
int32_t Tokenizer::end_of_text() const { return tables_->end; }

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  encode(text, ids);
  return ids;
}

void Tokenizer::encode(std::string_view text, std::vector<int32_t>& ids) const {
  ids.reserve(ids.size() + text.size() / 3);
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> known;  // word to range in ids
  constexpr size_t longest_known = 32;
  std::vector<int32_t> tokens;
  while (!text.empty()) {
    if (tables_->merges.size() == 0) {
      for (const char byte : text) ids.push_back(tables_->of_byte[static_cast<uint8_t>(byte)]);
      return;
    }
    const std::string_view pretoken = take_pretoken(text);
    if (pretoken.size() <= longest_known) {
      const auto found = known.find(pretoken);
      if (found != known.end()) {
        const auto [begin, end] = found->second;
        for (size_t i = begin; i < end; ++i) ids.push_back(ids[i]);
        continue;
      }
    }
    tokens.clear();
    for (const char byte : pretoken) tokens.push_back(tables_->of_byte[static_cast<uint8_t>(byte)]);
    tables_->merges.apply(tokens);
    if (pretoken.size() <= longest_known)
      known[pretoken] = {ids.size(), ids.size() + tokens.size()};
    ids.insert(ids.end(), tokens.begin(), tokens.end());
  }
}

const std::string& Tokenizer::token_bytes(int32_t id) const {
  if (id < 0 || id >= size())
    throw UserError("token {} is not in the vocabulary of {} tokens (0 to {})", id, size(),
                    size() - 1);
  return tables_->bytes[static_cast<size_t>(id)];
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += token_bytes(id);
  return text;
}

std::map<std::string, std::string> Tokenizer::files() const {
  const std::string end =
      tables_->end == tables_->of_byte[0] ? spelled(std::string(1, '\0')) : end_name;
  Json merges = Json::array();
  for_each_merge(tables_->merge_lines,
                 [&](const std::string& line, int64_t) { merges.push_back(line); });
  const Json byte_level{{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", true},
                        {"use_regex", true}};
  const Json whole{{"version", "1.0"},
                   {"truncation", nullptr},
                   {"padding", nullptr},
                   {"added_tokens", Json::array({{{"id", tables_->end},
                                                  {"content", end},
                                                  {"single_word", false},
                                                  {"lstrip", false},
                                                  {"rstrip", false},
                                                  {"normalized", false},
                                                  {"special", true}}})},
                   {"normalizer", nullptr},
                   {"pre_tokenizer", byte_level},
                   {"post_processor", byte_level},
                   {"decoder", byte_level},
                   {"model",
                    {{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", nullptr},
                     {"continuing_subword_prefix", ""},
                     {"end_of_word_suffix", ""},
                     {"fuse_unk", false},
                     {"vocab", Json::parse(tables_->vocabulary)},
                     {"merges", merges}}}};
  const Json settings{{"tokenizer_class", "GPT2Tokenizer"},
                      {"bos_token", end},
                      {"eos_token", end},
                      {"unk_token", end}};
  return {{"vocab.json", tables_->vocabulary},
          {"merges.txt", tables_->merge_lines},
          {"tokenizer.json", whole.dump()},
          {"tokenizer_config.json", settings.dump(2)}};
}

}  // namespace lockstep
