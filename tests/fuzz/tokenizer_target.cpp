#include "text/tokenizer.h"

#include "fuzz_target.h"

namespace lockstep {
namespace {

// Either vocab.json, merges.txt and a text, or tokenizer.json (which begins with {"model") and a
// text.
void read(const std::string& input) {
  const std::vector<std::string> files = files_of(input, 3);
  const bool one_file = files[0].starts_with("{\"model\"");
  const fs::path folder = scratch_folder() / "tokenizer";
  fs::remove_all(folder);
  if (one_file) {
    scratch_file("tokenizer/tokenizer.json", files[0]);
  } else {
    scratch_file("tokenizer/vocab.json", files[0]);
    scratch_file("tokenizer/merges.txt", files[1]);
  }
  const Tokenizer tokenizer = Tokenizer::read(folder);
  const std::string& text = files[one_file ? 1 : 2];
  const std::vector<int32_t> ids = tokenizer.encode(text);
  for (const int32_t id : ids)
    expect(id >= 0 && id < tokenizer.size(), "tokens are within the vocabulary");
  expect(tokenizer.decode(ids) == text, "decoding restores the text");
  for (const auto& [name, content] : tokenizer.files()) scratch_file("written/" + name, content);
  expect(Tokenizer::read(scratch_folder() / "written").encode(text) == ids,
         "a written tokenizer is read back unchanged");
}

std::vector<std::string> seeds() {
  const std::map<std::string, std::string> files = Tokenizer::bytes().files();
  const std::string& vocabulary = files.at("vocab.json");
  const std::string text = "It's 3 o'clock; na\xc3\xafve  caf\xc3\xa9s\n\n ab abc";
  std::string merged = vocabulary.substr(0, vocabulary.rfind('}'));
  merged += ",\"ab\":256,\"abc\":257,\"<|endoftext|>\":258}";
  const std::string merges = "#version: 0.2\na b\nab c\n";
  return {joined({vocabulary, files.at("merges.txt"), text}), joined({merged, merges, text}),
          joined({"{\"model\":{\"type\":\"BPE\",\"vocab\":" + merged +
                      ",\"merges\":[\"a b\",[\"ab\",\"c\"]]}}",
                  text})};
}

}  // namespace

FuzzTarget tokenizer_target() { return {"tokenizer", read, seeds}; }

}  // namespace lockstep
