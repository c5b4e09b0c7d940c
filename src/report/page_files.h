#pragma once

#include <string>
#include <vector>

namespace lockstep {

// The report's page and what it is made of: src/report/page/*, compiled in.
struct PageFile {
  std::string name;
  std::string text;
};
const std::vector<PageFile>& page_files();

}  // namespace lockstep
