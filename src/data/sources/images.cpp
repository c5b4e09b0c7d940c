#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "data/datasets/image_dataset.h"
#include "data/formats/image.h"
#include "data/sources/source.h"
#include "os/files.h"
#include "os/thread_pool.h"

namespace lockstep {
namespace {

bool is_image_name(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& letter : ending)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  constexpr std::array known = {".png", ".jpg", ".jpeg"};
  return std::ranges::find(known, ending) != known.end();
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// Sorted by name: the order of directory_iterator is unspecified.
std::vector<fs::path> entries(const fs::path& folder, bool folders) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (!is_hidden(entry.path()) &&
        (folders ? entry.is_directory() : entry.is_regular_file() && is_image_name(entry.path())))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

struct Collected {
  std::vector<std::string> classes;
  std::vector<fs::path> images;
  std::vector<int32_t> labels;
};

// Reads all images into `pixels`, image by image. All have the shape of the first.
Shape read_all(const std::vector<fs::path>& images, int threads, std::vector<uint8_t>& pixels) {
  const Shape shape = read_image(images.front()).shape;
  const auto size = static_cast<size_t>(shape.elements());
  pixels.resize(images.size() * size);
  ThreadPool(threads).split(
      static_cast<int64_t>(images.size()), 1, [&](int64_t begin, int64_t end, int) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          const Image image = read_image(images[i]);
          if (image.shape != shape)
            throw UserError(
                "{} is {} (height x width x channels) but {} is {}; all images must have the same "
                "size",
                images[i].string(), image.shape.text(), images.front().string(), shape.text());
          std::copy(image.pixels.begin(), image.pixels.end(), pixels.begin() + int64_t(i * size));
        }
      });
  return shape;
}

// Adds folder/<class>/<image>. The first part defines the classes; the second must not add any.
void add_part(const fs::path& folder, Collected& all) {
  const std::vector<fs::path> classes = entries(folder, true);
  if (classes.empty())
    throw UserError("{} holds no sub-folders; expected one per class, with its images",
                    folder.string());
  if (all.classes.empty())
    for (const fs::path& path : classes) all.classes.push_back(path.filename().string());
  for (const fs::path& path : classes) {
    const std::string name = path.filename().string();
    const auto known = std::find(all.classes.begin(), all.classes.end(), name);
    if (known == all.classes.end())
      throw UserError("{} is a class that the training part does not have; {}", path.string(),
                      suggestion(name, all.classes));
    const std::vector<fs::path> images = entries(path, false);
    if (images.empty()) throw UserError("{} holds no PNG or JPEG images", path.string());
    all.images.insert(all.images.end(), images.begin(), images.end());
    all.labels.resize(all.images.size(), static_cast<int32_t>(known - all.classes.begin()));
  }
}

}  // namespace

SourceData load_images(const DataConfig& config, const Say&, const OwnPart*) {
  const fs::path folder = required_path(config, "a folder with one sub-folder of images per class");
  if (!fs::is_directory(folder))
    throw UserError(
        "data.path = '{}' is not a folder; expected one with a sub-folder of images per "
        "class",
        folder.string());
  const bool split = fs::is_directory(folder / "train");
  Collected all;
  add_part(split ? folder / "train" : folder, all);
  SourceData data;
  data.train_rows = static_cast<int64_t>(all.labels.size());
  if (split && fs::is_directory(folder / "test")) add_part(folder / "test", all);
  std::vector<uint8_t> pixels;
  const Shape shape = read_all(all.images, config.loading_threads(), pixels);
  data.samples = std::make_unique<ImageDataset>(shape, std::move(pixels), std::move(all.labels),
                                                std::move(all.classes));
  data.provenance = "images: " + folder.string() + " (" + size_text(data) + ")";
  return data;
}

}  // namespace lockstep
