#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "text/unicode.h"

namespace lockstep {

// Deterministic texts of all kinds: code, words, many scripts, emoji, unusual spaces. Each is valid
// UTF-8.
inline std::vector<std::string> test_strings(size_t count) {
  const std::vector<std::string> words = {"the",     "quick",
                                          "Brown",   "fox's",
                                          "it's",    "we'll",
                                          "they've", "I'm",
                                          "don't",   "you'd",
                                          "we're",   "'tis",
                                          "''",      "s't",
                                          "return",  "def",
                                          "for",     "while",
                                          "int",     "printf(",
                                          "std::",   "=>",
                                          "!=",      "&&",
                                          "//",      "/*",
                                          "{}",      "[i]",
                                          "x_1",     "0x7f",
                                          "3.14159", "1e-9",
                                          "2024",    "\"quoted\"",
                                          "<html>",  "&amp;",
                                          "ÄÖÜ",     "straße",
                                          "naïve",   "Привет",
                                          "мир",     "你好",
                                          "世界",    "こんにちは",
                                          "한국어",  "مرحبا",
                                          "שלום",    "नमस्ते",
                                          "ไทย",     "Ελλάδα",
                                          "½",       "²³",
                                          "Ⅷ",       "٣٤",
                                          "😀",       "👩‍👩‍👧",
                                          "🇩🇪",      "é",
                                          "́x",       "…",
                                          "—",       "“x”",
                                          "€5",      "<|endoftext|>",
                                          "A",       "supercalifragilisticexpialidocious"};
  const std::vector<std::string> spaces = {
      " ",      " ",      " ",      "  ",     "\n", "\n\n", "\t",     "    ",   "\r\n", " \n",
      "\u00a0", "\u2003", "\u3000", "\u2028", "",   "\v",   "\u0085", "\u200b", " \t "};
  // Blocks of Latin, Greek, Cyrillic, Hebrew, Arabic, Indic, Thai, Georgian, punctuation, arrows,
  // kana, Chinese, Korean, mathematical letters, emoji.
  const std::pair<uint32_t, uint32_t> blocks[] = {
      {0x20, 0x7e},     {0xa1, 0x24f},    {0x370, 0x3ff},     {0x400, 0x4ff},
      {0x5d0, 0x5ea},   {0x620, 0x66f},   {0x905, 0x939},     {0xe01, 0xe3a},
      {0x10a0, 0x10ff}, {0x2000, 0x206f}, {0x2190, 0x21ff},   {0x3041, 0x30ff},
      {0x4e00, 0x9fa5}, {0xac00, 0xd7a3}, {0x1d400, 0x1d454}, {0x1f300, 0x1f5ff}};
  Rng rng(5, Purpose::noise, 1);
  std::vector<std::string> all = {"", " ", "a", " a", "  a", "a ", "a  ", "\n", "'s", "'", "' s"};
  while (all.size() < count) {
    std::string text;
    const uint64_t parts = 1 + rng.below(12);
    for (uint64_t i = 0; i < parts; ++i) {
      const uint64_t kind = rng.below(10);
      if (kind < 6) {
        text += words[rng.below(words.size())];
      } else {
        const auto [first, last] = blocks[rng.below(std::size(blocks))];
        for (uint64_t n = 1 + rng.below(kind == 9 ? 30 : 4); n > 0; --n)
          append_utf8(text, first + static_cast<uint32_t>(rng.below(last - first + 1)));
      }
      text += spaces[rng.below(spaces.size())];
    }
    all.push_back(std::move(text));
  }
  return all;
}

}  // namespace lockstep
