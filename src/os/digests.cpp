#include "os/digests.h"

#include <xxhash.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <vector>

#include "base/error.h"

namespace lockstep {
namespace {

constexpr std::string_view run_start = "# run ", tag = "XXH3 (", middle = ") = ";

std::string line_of(const std::string& name, uint64_t digest) {
  return fmt::format("{}{}{}{:016x}\n", tag, name, middle, digest);
}

uint64_t digest_of_text(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace

uint64_t digest_of(std::span<const uint8_t> content) {
  return XXH3_64bits(content.data(), content.size());
}

fs::path digests_path(const fs::path& folder) { return folder / "digests.txt"; }

std::string digests_text(const Digests& digests) {
  std::string text = fmt::format("{}{}\n", run_start, digests.run);
  for (const auto& [name, digest] : digests.files) text += line_of(name, digest);
  return text + line_of("digests.txt", digest_of_text(text));
}

std::optional<Digests> read_digests(const fs::path& folder) {
  const fs::path path = digests_path(folder);
  if (!fs::exists(path)) return std::nullopt;
  const auto damaged = [&] {
    return UserError(
        "{} is damaged: its lines do not match its own last line; restore it from a copy, or "
        "remove it to skip these checks",
        path.string());
  };
  const std::string text = read_text(path);
  Digests digests;
  std::istringstream lines(text);
  size_t before = 0;  // bytes before the current line
  bool whole = false;
  for (std::string line; std::getline(lines, line); before += line.size() + 1) {
    if (whole) throw damaged();
    if (line.starts_with(run_start)) {
      digests.run = line.substr(run_start.size());
      continue;
    }
    const size_t name_end = line.rfind(middle);
    if (!line.starts_with(tag) || name_end == std::string::npos) throw damaged();
    const std::string name = line.substr(tag.size(), name_end - tag.size());
    const char *from = line.data() + name_end + middle.size(), *to = line.data() + line.size();
    uint64_t digest = 0;
    const auto [end, error] = std::from_chars(from, to, digest, 16);
    if (error != std::errc() || end != to) throw damaged();
    whole = name == digests_file;
    if (whole && digest != digest_of_text(std::string_view(text).substr(0, before)))
      throw damaged();
    if (!whole) digests.files[name] = digest;
  }
  if (!whole) throw damaged();
  return digests;
}

uint64_t digest_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError("cannot read {}: no such file, or not readable", path.string());
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> part(1 << 20);
  while (file) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    XXH3_64bits_update(state.get(), part.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) throw Failure("cannot read {}", path.string());
  return XXH3_64bits_digest(state.get());
}

bool expect_undamaged(const fs::path& file) {
  const std::optional<Digests> digests = read_digests(file.parent_path());
  if (!digests) return false;
  const auto known = digests->files.find(file.filename().string());
  if (known == digests->files.end()) return false;
  if (digest_of_file(file) != known->second)
    throw UserError(
        "{} is damaged: its content does not match the digest in {}; restore it from a copy, or "
        "train again",
        file.string(), digests_path(file.parent_path()).string());
  return true;
}

std::string new_run_identifier() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace lockstep
