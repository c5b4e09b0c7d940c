#include "data/text/text_template.h"

#include "base/error.h"

namespace lockstep {

TextTemplate::TextTemplate(const std::string& text) {
  Field field;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      field.text += c;
      ++at;
    } else if (c == '{') {
      const size_t close = text.find('}', at);
      if (close == std::string::npos || close == at + 1)
        throw UserError(
            "data.template = \"{}\": the bracket at character {} names no column; write "
            "{{column}}, "
            "or {{{{ for a bracket itself",
            text, at + 1);
      field.column = text.substr(at + 1, close - at - 1);
      fields_.push_back(std::move(field));
      field = {};
      at = close;
    } else if (c == '}') {
      throw UserError(
          "data.template = \"{}\": nothing opens the bracket at character {}; write }}}} "
          "for a bracket itself",
          text, at + 1);
    } else {
      field.text += c;
    }
  }
  if (fields_.empty())
    throw UserError("data.template = \"{}\" names no column; expected something like \"{{text}}\"",
                    text);
  fields_.push_back(std::move(field));
}

std::vector<std::string> TextTemplate::columns() const {
  std::vector<std::string> names;
  for (size_t i = 0; i + 1 < fields_.size(); ++i) names.push_back(fields_[i].column);
  return names;
}

std::string TextTemplate::fill(const std::function<const std::string&(size_t)>& value) const {
  std::string text;
  for (size_t i = 0; i < fields_.size(); ++i) {
    text += fields_[i].text;
    if (i + 1 < fields_.size()) text += value(i);
  }
  return text;
}

}  // namespace lockstep
