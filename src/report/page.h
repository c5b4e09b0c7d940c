#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep {

// One self-contained HTML file. The data: title, subtitle, tiles, skipped, studies, table, ...
// as page/page.js reads them.
std::string report_page(const nlohmann::ordered_json& data);

}  // namespace lockstep
