#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/files.h"

namespace lockstep {

// Byte-level byte-pair encoding, as in GPT-2. decode() restores any byte string that encode() was
// given. Special tokens are not recognised within text.
class Tokenizer {
 public:
  // 256 tokens, one per byte, without merges; byte 0 is the end of text.
  static Tokenizer bytes();
  // From vocab.json and merges.txt (or encoder.json and vocab.bpe, or tokenizer.json).
  static Tokenizer read(const fs::path& folder);
  // The same from the contents of the files; `where` is for messages.
  static Tokenizer from_files(const std::string& vocabulary, const std::string& merges,
                              const std::string& where);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  int32_t size() const;
  int32_t end_of_text() const;

  std::vector<int32_t> encode(std::string_view text) const;
  void encode(std::string_view text, std::vector<int32_t>& ids) const;  // appends
  // Throws a UserError for an id that is not in the vocabulary.
  std::string decode(std::span<const int32_t> ids) const;
  const std::string& token_bytes(int32_t id) const;

  // Files in Hugging Face's format that read() accepts: name to content.
  std::map<std::string, std::string> files() const;

 private:
  struct Tables;
  explicit Tokenizer(std::unique_ptr<Tables> tables);
  std::unique_ptr<Tables> tables_;
};

}  // namespace lockstep
