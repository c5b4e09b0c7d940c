#include "train/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"

namespace lockstep {
namespace {

constexpr const char* prefix = "events.out.tfevents.";

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0);
    table[i] = c;
  }
  return table;
}

template <typename T>
std::string raw(T value) {  // little-endian, as all machines this runs on
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// TFRecord hides checksums of checksums by this.
std::string masked(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return raw(static_cast<uint32_t>(((crc >> 15) | (crc << 17)) + 0xa282ead8u));
}

// Protocol buffers: a field's number and kind, then its value.
enum Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string number(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(0x80 | (value & 0x7f));
  return text + static_cast<char>(value);
}
std::string key(int field, Wire wire) { return number(static_cast<uint64_t>(field << 3 | wire)); }
std::string text_field(int field, std::string_view text) {
  return key(field, bytes) + number(text.size()) + std::string(text);
}

}  // namespace

uint32_t crc32c(std::string_view data) {
  static const std::array<uint32_t, 256> table = crc_table();
  uint32_t crc = 0xffffffffu;
  for (const char c : data) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return crc ^ 0xffffffffu;
}

bool EventFile::is_event_file(const fs::path& path) {
  return path.filename().string().starts_with(prefix);
}

EventFile::EventFile(const fs::path& folder) : file_(nullptr, std::fclose) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  path_ = folder / fmt::format("{}{}.{}.{}", prefix, static_cast<int64_t>(unix_seconds()),
                               host.data(), ::getpid());
  file_.reset(std::fopen(path_.c_str(), "w"));
  if (!file_) throw Failure("cannot write {}: {}", path_.string(), std::strerror(errno));
  write(key(1, fixed64) + raw(unix_seconds()) + text_field(3, "brain.Event:2"));
}

void EventFile::add(int64_t step, std::span<const NamedScalar> scalars) {
  std::string summary;
  for (const auto& [name, value] : scalars)
    summary +=
        text_field(1, text_field(1, name) + key(2, fixed32) + raw(static_cast<float>(value)));
  write(key(1, fixed64) + raw(unix_seconds()) + key(2, varint) +
        number(static_cast<uint64_t>(step)) + text_field(5, summary));
}

void EventFile::write(const std::string& event) {
  const std::string length = raw(static_cast<uint64_t>(event.size()));
  const std::string record = length + masked(length) + event + masked(event);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size())
    throw Failure("cannot write {}: {}", path_.string(), std::strerror(errno));
}

void EventFile::flush() {
  if (std::fflush(file_.get()) != 0)
    throw Failure("cannot write {}: {}", path_.string(), std::strerror(errno));
}

}  // namespace lockstep
