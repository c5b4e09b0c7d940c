#include "text/pretokens.h"

#include "text/unicode.h"

namespace lockstep {
namespace {

// Length of 's, 't, 're, 've, 'm, 'll or 'd at the start; 0: none.
size_t contraction(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const char second = text[1];
  if (second == 's' || second == 't' || second == 'm' || second == 'd') return 2;
  if (text.size() < 3) return 0;
  const char third = text[2];
  const bool two = (second == 'r' && third == 'e') || (second == 'v' && third == 'e') ||
                   (second == 'l' && third == 'l');
  return two ? 3 : 0;
}

// End of a run of characters of this kind.
size_t end_of_run(std::string_view text, size_t at, CharacterKind kind) {
  while (at < text.size()) {
    const Character next = character_at(text, at);
    if (next.kind != kind) break;
    at += next.bytes;
  }
  return at;
}

// Length of a run of spaces. Before another character its last space is left out, unless it is the
// only one.
size_t spaces(std::string_view text) {
  size_t at = 0, last = 0;
  while (at < text.size()) {
    const Character next = character_at(text, at);
    if (next.kind != CharacterKind::space) return last > 0 ? last : at;
    last = at;
    at += next.bytes;
  }
  return at;
}

size_t pretoken_length(std::string_view text) {
  if (const size_t length = contraction(text)) return length;
  const size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const Character first = character_at(text, start);
  if (first.kind != CharacterKind::space) return end_of_run(text, start + first.bytes, first.kind);
  return spaces(text);
}

}  // namespace

std::string_view take_pretoken(std::string_view& rest) {
  const std::string_view pretoken = rest.substr(0, pretoken_length(rest));
  rest.remove_prefix(pretoken.size());
  return pretoken;
}

}  // namespace lockstep
