#pragma once

#include "data/sources/source.h"

namespace lockstep {

enum class Origin { shipped, fetched, own };  // own: files of the user, named by data.path

enum class SampleKind { image, table, posts, text };

struct Source {
  std::string name;
  std::string description;
  Origin origin;
  SampleKind kind;
  SourceData (*load)(const DataConfig& config, const Say& say, const OwnPart* own);
  std::vector<std::string> classes;  // empty: defined by the data
  // Shape of a sample; null: unknown before the data are read.
  Shape (*shape)(const DataConfig& config) = nullptr;
};

const std::vector<Source>& sources();

// Throws a UserError with a suggestion if the name is unknown.
const Source& find_source(const std::string& name);

}  // namespace lockstep
