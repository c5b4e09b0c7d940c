#include "data/sources/registry.h"

#include "base/error.h"
#include "base/nearest.h"

namespace lockstep {
namespace {

std::vector<std::string> digits() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

std::vector<std::string> garments() {
  return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
          "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
}

std::vector<std::string> things() {
  return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

Shape grey_28(const DataConfig&) { return {28, 28, 1}; }
Shape tokens(const DataConfig& config) { return {config.context}; }

}  // namespace

const std::vector<Source>& sources() {
  static const std::vector<Source> all = {
      {"iris",
       "150 flowers of 3 species, 4 lengths each",
       Origin::shipped,
       SampleKind::table,
       load_iris,
       {"setosa", "versicolor", "virginica"},
       [](const DataConfig&) { return Shape{4}; }},
      {"mnist-sample", "2,000 + 500 handwritten digits, a sample of MNIST", Origin::shipped,
       SampleKind::image, load_mnist_sample, digits(), grey_28},
      {"mnist", "60,000 + 10,000 handwritten digits, 28x28 grey", Origin::fetched,
       SampleKind::image, load_mnist, digits(), grey_28},
      {"fashion-mnist", "60,000 + 10,000 pieces of clothing, 28x28 grey", Origin::fetched,
       SampleKind::image, load_mnist, garments(), grey_28},
      {"cifar-10",
       "50,000 + 10,000 photographs, 32x32 colour; data.path: the folder with data_batch_1.bin",
       Origin::own, SampleKind::image, load_cifar10, things(),
       [](const DataConfig&) {
         return Shape{32, 32, 3};
       }},
      {"csv",
       "a table of your own; data.path: the file, data.label: the column of the class",
       Origin::own,
       SampleKind::table,
       load_csv,
       {}},
      {"idx",
       "IDX files of your own; data.path: their folder, or IMAGES,LABELS",
       Origin::own,
       SampleKind::image,
       load_idx,
       {}},
      {"posts",
       "posts of users and who follows whom; data.path: a folder with posts.csv and follows.csv; "
       "without it, a synthetic set of 94,000 posts",
       Origin::own,
       SampleKind::posts,
       load_posts,
       {},
       [](const DataConfig& config) { return Shape{config.vocabulary}; }},
      {"text",
       "text of your own, as tokens; data.path: a .txt file, or a .csv or .jsonl whose columns "
       "data.template merges",
       Origin::own,
       SampleKind::text,
       load_text,
       {},
       tokens},
      {"problems-sample",
       "462 small programming problems with solutions, made for this project",
       Origin::shipped,
       SampleKind::text,
       load_text,
       {},
       tokens},
      {"tiny-shakespeare",
       "1.1 MB of Shakespeare's plays; data.path: the file, where it cannot be fetched",
       Origin::fetched,
       SampleKind::text,
       load_text,
       {},
       tokens},
      {"images",
       "PNG and JPEG files of your own; data.path: a folder with one sub-folder per class",
       Origin::own,
       SampleKind::image,
       load_images,
       {}},
  };
  return all;
}

const Source& find_source(const std::string& name) {
  std::vector<std::string> names;
  for (const Source& source : sources()) {
    if (source.name == name) return source;
    names.push_back(source.name);
  }
  throw UserError("data.name = '{}' is not a known data set; {} ('lockstep data list' shows all)",
                  name, suggestion(name, names));
}

}  // namespace lockstep
