#include "data/text/load_tokenizer.h"

#include "base/error.h"
#include "data/fetch.h"

namespace lockstep {

Tokenizer load_tokenizer(const std::string& name, const Say& say) {
  if (name == "bytes") return Tokenizer::bytes();
  if (name == "gpt2") return Tokenizer::read(cached_or_fetched("gpt2-bpe", say));
  if (name.empty())
    throw UserError(
        "data.tokenizer is empty; expected \"bytes\", \"gpt2\" or a folder with vocab.json and "
        "merges.txt, or model.from, which brings one");
  if (!fs::is_directory(name))
    throw UserError(
        "data.tokenizer = \"{}\" is neither \"bytes\" nor \"gpt2\" nor a folder with vocab.json "
        "and "
        "merges.txt",
        name);
  return Tokenizer::read(name);
}

}  // namespace lockstep
