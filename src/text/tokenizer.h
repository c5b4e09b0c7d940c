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

// Text as numbers: bytes, merged pair by pair in the order that GPT-2's training found. Any byte
// string goes there and back unchanged. Special tokens are not recognised within text.
class Tokenizer {
 public:
  // 256 symbols, one a byte, nothing merged; byte 0 ends a text.
  static Tokenizer bytes();
  // From vocab.json and merges.txt (or encoder.json and vocab.bpe, or tokenizer.json).
  static Tokenizer read(const fs::path& folder);
  // The same from their contents; `where` is for messages.
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

  // What `read` reads, as Hugging Face writes it: names and contents.
  std::map<std::string, std::string> files() const;

 private:
  struct Tables;
  explicit Tokenizer(std::unique_ptr<Tables> tables);
  std::unique_ptr<Tables> tables_;
};

}  // namespace lockstep
