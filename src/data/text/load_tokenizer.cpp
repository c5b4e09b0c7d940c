#include "data/text/load_tokenizer.h"

#include "base/enum_text.h"
#include "base/error.h"
#include "data/fetch/fetch.h"

namespace lockstep {

namespace {

enum class Builtin { bytes, gpt2 };

}  // namespace

template <>
inline constexpr auto enum_texts<Builtin> = std::array{"bytes", "gpt2"};

Tokenizer load_tokenizer(const std::string& name, const Say& say) {
  if (const auto builtin = from_text<Builtin>(name))
    return *builtin == Builtin::bytes ? Tokenizer::bytes()
                                      : Tokenizer::read(cached_or_fetched("gpt2-bpe", say));
  if (name.empty())
    throw UserError(
        "data.tokenizer is empty; expected \"bytes\", \"gpt2\" or a folder with vocab.json and "
        "merges.txt; or set model.from to a model that includes one");
  if (!fs::is_directory(name))
    throw UserError(
        "data.tokenizer = \"{}\" is neither \"bytes\" nor \"gpt2\" nor a folder with vocab.json "
        "and "
        "merges.txt",
        name);
  return Tokenizer::read(name);
}

}  // namespace lockstep
