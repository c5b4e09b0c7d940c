// Files are written completely or not at all, and errors give the reason.

#include "os/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "os/full_disk.h"

namespace {

int synced_folders = 0;

}  // namespace

// Replaces the C library's function, to count synced folders.
extern "C" int fsync(int file) {
  struct stat info {};
  if (::fstat(file, &info) == 0 && S_ISDIR(info.st_mode)) ++synced_folders;
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace lockstep {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "lockstep-files-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw Failure("cannot make {}", name);
    folder_ = name;
  }
  ~Files() override { fs::remove_all(folder_); }

  template <typename Error, typename Call>
  void expect_error(Call call, const std::string& part) {
    try {
      call();
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  fs::path folder_;
};

TEST_F(Files, ReadBackWhatWasWritten) {
  write_file(folder_ / "a", "hello");
  EXPECT_EQ(read_text(folder_ / "a"), "hello");
  write_file(folder_ / "a", "");
  EXPECT_EQ(read_text(folder_ / "a"), "");
}

TEST_F(Files, AFullDiskLeavesTheOldContentAndNothingElse) {
  write_file(folder_ / "a", "old");
  {
    const FullDisk full;
    expect_error<Failure>([&] { write_file(folder_ / "a", "new"); }, "File too large");
  }
  EXPECT_EQ(read_text(folder_ / "a"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

// Another user with write access to the folder must not choose which file is overwritten.
TEST_F(Files, LinksAreReplacedAndTheirTargetsStay) {
  write_file(folder_ / "victim", "precious");
  const auto linked = [&](const char* name) {
    fs::remove(folder_ / name);
    fs::create_symlink("victim", folder_ / name);
  };
  linked("a");
  linked("a.new");
  write_file(folder_ / "a", "new");
  linked("log");
  LineFile(folder_ / "log").append("a line");
  EXPECT_EQ(read_text(folder_ / "victim"), "precious");
  EXPECT_EQ(read_text(folder_ / "a"), "new");
  EXPECT_EQ(read_text(folder_ / "log"), "a line\n");
  for (const char* name : {"a", "log"}) EXPECT_FALSE(fs::is_symlink(folder_ / name)) << name;
}

TEST_F(Files, LinesAreNotAppendedThroughALink) {
  write_file(folder_ / "victim", "precious");
  fs::create_symlink("victim", folder_ / "log");
  expect_error<Failure>([&] { LineFile(folder_ / "log", true); }, "symbolic link");
  EXPECT_EQ(read_text(folder_ / "victim"), "precious");
}

TEST_F(Files, LinesFollowALinkToADevice) {
  fs::create_symlink("/dev/full", folder_ / "log");
  LineFile lines(folder_ / "log");
  expect_error<Failure>([&] { lines.append("a line"); }, "No space left");
}

TEST_F(Files, ALeftoverTemporaryFileIsReplaced) {
  write_file(folder_ / "a.new", "half of someth");
  write_file(folder_ / "a", "new");
  EXPECT_EQ(read_text(folder_ / "a"), "new");
  EXPECT_FALSE(fs::exists(folder_ / "a.new"));
}

TEST_F(Files, AStagedFileChangesNothingUntilItIsCommitted) {
  write_file(folder_ / "a", "old");
  { const StagedFile dropped(folder_ / "a", "new"); }
  EXPECT_EQ(read_text(folder_ / "a"), "old");
  EXPECT_FALSE(fs::exists(folder_ / "a.new"));
  StagedFile kept(folder_ / "a", "new");
  EXPECT_EQ(read_text(folder_ / "a"), "old");
  kept.commit();
  EXPECT_EQ(read_text(folder_ / "a"), "new");
}

TEST_F(Files, AGroupIsCommittedInOrderUpToTheFirstFailure) {
  FileGroup files;
  files.add({folder_ / "a", "1"});
  files.add({folder_ / "b", "2"});
  files.commit();
  EXPECT_EQ(read_text(folder_ / "a") + read_text(folder_ / "b"), "12");
  fs::create_directory(folder_ / "c");
  write_file(folder_ / "c" / "inside", "x");
  files.add({folder_ / "c", "a file cannot replace a folder"});
  files.add({folder_ / "d", "comes after it"});
  expect_error<Failure>([&] { files.commit(); }, "cannot write");
  EXPECT_FALSE(fs::exists(folder_ / "d") || fs::exists(folder_ / "d.new"));
}

TEST_F(Files, AGroupSyncsEachFolderOnce) {
  fs::create_directory(folder_ / "sub");
  FileGroup files;
  for (const char* name : {"a", "b", "sub/a", "sub/b"}) files.add({folder_ / name, "x"});
  const int before = synced_folders;
  files.commit();
  EXPECT_EQ(synced_folders - before, 2);
}

TEST_F(Files, ASingleFileSyncsItsFolder) {
  const int before = synced_folders;
  write_file(folder_ / "a", "x");
  EXPECT_EQ(synced_folders - before, 1);
}

TEST_F(Files, ReadingAMissingFileOrAFolderIsAUserError) {
  expect_error<UserError>([&] { read_text(folder_ / "none"); }, "No such file");
  expect_error<UserError>([&] { read_text(folder_); }, "it is a folder");
}

TEST_F(Files, AFileWhereAFolderShouldBeIsAFailure) {
  write_file(folder_ / "a", "x");
  expect_error<Failure>([&] { make_folder(folder_ / "a" / "b"); }, "cannot make the folder");
  expect_error<Failure>([&] { write_file(folder_ / "a" / "b", "x"); }, "cannot write");
}

TEST_F(Files, FlushedLinesCanBeRead) {
  LineFile lines(folder_ / "log");
  lines.append("one");
  EXPECT_EQ(read_text(folder_ / "log"), "one\n");
  lines.append("two");
  lines.flush();
  EXPECT_EQ(read_text(folder_ / "log"), "one\ntwo\n");
}

TEST_F(Files, ALineThatDoesNotFitOnTheDiskIsAFailure) {
  LineFile lines("/dev/full");
  expect_error<Failure>([&] { lines.append("one"); }, "/dev/full");
}

TEST_F(Files, Sha256MatchesAKnownDigest) {
  write_file(folder_ / "a", "abc");
  EXPECT_EQ(sha256(folder_ / "a"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace lockstep
