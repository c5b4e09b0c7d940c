#pragma once

#include <optional>

#include "data/sources/source.h"
#include "os/files.h"

namespace lockstep {

// An images file and the labels file that belongs to it.
struct IdxPart {
  fs::path images;
  fs::path labels;
};

// The IDX file for a stem such as "train-images" in its usual spellings (train-images-idx3-ubyte,
// train-images.idx3-ubyte; plain before .gz), or an empty path.
fs::path find_idx(const fs::path& folder, const std::string& stem);

// The parts of a folder in MNIST's layout. Throws a UserError if there is no training part.
IdxPart train_part(const fs::path& folder);
std::optional<IdxPart> test_part(const fs::path& folder);

// Reads images directly into their final memory. If `classes` is empty, the classes are 0 to the
// highest label. With `own`, only the rank's part of the training images is read, by the calling
// thread; otherwise `threads` read files at the same time.
SourceData read_idx_parts(const IdxPart& train, const std::optional<IdxPart>& test,
                          std::vector<std::string> classes, const OwnPart* own, int threads);

}  // namespace lockstep
