// Compares the hand-written splitting of text with the original pattern in PCRE2.

#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pretokens.h"

#include <gtest/gtest.h>
#include <pcre2.h>

#include <memory>

#include "text/strings.h"

namespace lockstep {
namespace {

class Pattern {
 public:
  Pattern() {
    // PCRE2's \s also matches U+180E, no space since Unicode 6.3; no test string contains it.
    const char* pattern =
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED,
                              PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  std::vector<std::string> pretokens(const std::string& text) const {
    std::vector<std::string> all;
    size_t from = 0;
    while (from < text.size() && pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                             text.size(), from, 0, match_.get(), nullptr) > 0) {
      const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match_.get());
      all.push_back(text.substr(found[0], found[1] - found[0]));
      from = found[1];
    }
    return all;
  }

 private:
  std::unique_ptr<pcre2_code, void (*)(pcre2_code*)> code_{nullptr, pcre2_code_free};
  std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match_{nullptr,
                                                                        pcre2_match_data_free};
};

std::vector<std::string> our_pretokens(const std::string& text) {
  std::vector<std::string> all;
  for (std::string_view rest = text; !rest.empty();) all.emplace_back(take_pretoken(rest));
  return all;
}

TEST(Pretokens, EqualThoseOfTheOriginalPattern) {
  const Pattern pattern;
  for (const std::string& text : test_strings(20000))
    ASSERT_EQ(our_pretokens(text), pattern.pretokens(text)) << '"' << text << '"';
}

TEST(Pretokens, OfInvalidUtf8JoinToTheOriginalText) {
  Rng rng(3, Purpose::noise);
  for (int i = 0; i < 1000; ++i) {
    std::string text, joined;
    for (uint64_t n = rng.below(30); n > 0; --n) text += static_cast<char>(rng.below(256));
    for (const std::string& pretoken : our_pretokens(text)) joined += pretoken;
    ASSERT_EQ(joined, text);
  }
}

}  // namespace
}  // namespace lockstep
