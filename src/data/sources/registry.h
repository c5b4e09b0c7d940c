#pragma once

#include "data/sources/source.h"

namespace lockstep {

enum class Origin { shipped, fetched, own };  // own: the user names it by data.path

struct Source {
  std::string name;
  std::string description;
  Origin origin;
  SourceData (*load)(const DataConfig& config, const Say& say, const OwnPart* own);
  std::vector<std::string> classes;  // empty: the data name them
};

const std::vector<Source>& sources();

// Throws a UserError with a suggestion when there is none of this name.
const Source& find_source(const std::string& name);

}  // namespace lockstep
