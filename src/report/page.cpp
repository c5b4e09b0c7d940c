#include "report/page.h"

#include "base/error.h"
#include "report/page_files.h"

namespace lockstep {
namespace {

const std::string& page_file(const std::string& name) {
  for (const PageFile& file : page_files())
    if (file.name == name) return file.text;
  throw Failure("the program lacks its file {}", name);
}

// Within a script element, "</" and "<!--" would end or change it; JSON can escape "<".
std::string script_safe(const std::string& json) {
  std::string safe;
  for (const char c : json) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

std::string html_safe(const std::string& text) {
  std::string safe;
  for (const char c : text) c == '<' ? safe += "&lt;" : c == '&' ? safe += "&amp;" : safe += c;
  return safe;
}

}  // namespace

std::string report_page(const nlohmann::ordered_json& data) {
  const std::pair<std::string, std::string> parts[] = {
      {"@TITLE@", html_safe(data.value("title", "Lockstep"))},
      {"@CSS@", page_file("page.css")},
      {"@DATA@",
       script_safe(data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace))},
      {"@CHARTS@", page_file("charts.js")},
      {"@SCRIPT@", page_file("page.js")}};
  // In the order of the page, so that inserted content is not searched for marks.
  const std::string& page = page_file("page.html");
  std::string text;
  size_t at = 0;
  for (const auto& [mark, content] : parts) {
    const size_t found = page.find(mark, at);
    ENSURE(found != std::string::npos);
    text += page.substr(at, found - at) + content;
    at = found + mark.size();
  }
  return text + page.substr(at);
}

}  // namespace lockstep
