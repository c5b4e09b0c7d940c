#include "data/posts/words.h"

#include <cctype>

namespace lockstep {
namespace {

// Length of the multi-byte UTF-8 sequence at the start of the text; 0: none.
size_t sequence(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  const size_t length = byte >= 0xf0 && byte < 0xf5   ? 4
                        : byte >= 0xe0 && byte < 0xf0 ? 3
                        : byte >= 0xc2 && byte < 0xe0 ? 2
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

// Separators beyond ASCII: U+2000 to U+207F (general punctuation, superscripts), no-break space,
// U+FFFD.
bool separates(std::string_view letter) {
  for (const char* start : {"\xe2\x80", "\xe2\x81", "\xc2\xa0", "\xef\xbf\xbd"})
    if (letter.starts_with(start)) return true;
  return false;
}

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Length in bytes of the word character at the start of the text; 0: none.
size_t letter(std::string_view text) {
  if (text.empty()) return 0;
  if (static_cast<unsigned char>(text[0]) < 0x80) return is_plain(text[0]) ? 1 : 0;
  const size_t length = sequence(text);
  return length > 0 && !separates(text.substr(0, length)) ? length : 0;
}

size_t until_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && !std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

// "RT @someone", "QT @someone"
bool is_repost_mark(std::string_view rest) {
  return (rest.starts_with("RT @") || rest.starts_with("QT @"));
}

}  // namespace

std::vector<std::string> words_of(std::string_view post) {
  std::vector<std::string> words;
  for (size_t at = 0; at < post.size();) {
    const std::string_view rest = post.substr(at);
    const bool starts = at == 0 || !is_plain(post[at - 1]);
    if (starts && is_repost_mark(rest)) {
      at += 3;
    } else if (rest[0] == '@') {
      for (++at; at < post.size() && is_plain(post[at]);) ++at;
    } else if (starts && (rest.starts_with("http://") || rest.starts_with("https://") ||
                          rest.starts_with("www."))) {
      at += until_space(rest);
    } else {
      const bool tag = rest[0] == '#' && letter(rest.substr(1)) > 0;
      size_t end = at + (tag ? 1 : 0);
      while (const size_t length = letter(post.substr(end))) end += length;
      if (end == at) {
        ++at;
        continue;
      }
      std::string word(post.substr(at, end - at));
      for (char& c : word)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      words.push_back(std::move(word));
      at = end;
    }
  }
  return words;
}

}  // namespace lockstep
