#pragma once

#include <string>
#include <vector>

namespace lockstep {

// Files of the report's page: src/report/page/*, compiled in.
struct PageFile {
  std::string name;
  std::string text;
};
const std::vector<PageFile>& page_files();

}  // namespace lockstep
