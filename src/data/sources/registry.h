#pragma once

#include "data/sources/source.h"

namespace lockstep {

enum class Origin { shipped, fetched, own };  // own: the user names it by data.path

enum class SampleKind { image, table, posts, text };

struct Source {
  std::string name;
  std::string description;
  Origin origin;
  SampleKind kind;
  SourceData (*load)(const DataConfig& config, const Say& say, const OwnPart* own);
  std::vector<std::string> classes;  // empty: the data name them
  // Of one sample, as far as it is known before anything is read; null: it is not.
  Shape (*shape)(const DataConfig& config) = nullptr;
};

const std::vector<Source>& sources();

// Throws a UserError with a suggestion when there is none of this name.
const Source& find_source(const std::string& name);

}  // namespace lockstep
