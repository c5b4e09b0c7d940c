#include "train/record/event_file.h"

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

// Table k: effect of a byte on the checksum when k more bytes follow.
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;
constexpr CrcTables crc_tables() {
  CrcTables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0);
    tables[0][i] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t i = 0; i < 256; ++i)
      tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  return tables;
}

static_assert(std::endian::native == std::endian::little);  // the format is little-endian

template <typename T>
void add_raw(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// TFRecord stores checksums with this mask.
void add_masked(std::string& to, std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  add_raw(to, static_cast<uint32_t>(((crc >> 15) | (crc << 17)) + 0xa282ead8u));
}

// Protocol buffers: a field's number and wire type, then its value.
enum Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void add_number(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(0x80 | (value & 0x7f));
  to += static_cast<char>(value);
}
void add_key(std::string& to, int field, Wire wire) {
  add_number(to, static_cast<uint64_t>(field << 3 | wire));
}
void add_text(std::string& to, int field, std::string_view text) {
  add_key(to, field, bytes);
  add_number(to, text.size());
  to += text;
}
void start_event(std::string& event) {
  event.clear();
  add_key(event, 1, fixed64);
  add_raw(event, unix_seconds());
}

}  // namespace

uint32_t crc32c(std::string_view data) {
  static constexpr CrcTables t = crc_tables();
  uint32_t crc = 0xffffffffu;
  for (; data.size() >= 8; data.remove_prefix(8)) {  // eight bytes at a time
    uint64_t word;
    std::memcpy(&word, data.data(), sizeof(word));
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= t[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (const char c : data) crc = (crc >> 8) ^ t[0][(crc ^ static_cast<unsigned char>(c)) & 0xff];
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
  start_event(event_);
  add_text(event_, 3, "brain.Event:2");
  write();
}

void EventFile::add(int64_t step, std::span<const NamedScalar> scalars) {
  summary_.clear();
  for (const auto& [name, value] : scalars) {
    // Length of the value: key, length (one byte) and text of the name, key and float.
    ENSURE(name.size() < 100);
    add_key(summary_, 1, bytes);
    add_number(summary_, 2 + name.size() + 1 + sizeof(float));
    add_text(summary_, 1, name);
    add_key(summary_, 2, fixed32);
    add_raw(summary_, static_cast<float>(value));
  }
  start_event(event_);
  add_key(event_, 2, varint);
  add_number(event_, static_cast<uint64_t>(step));
  add_text(event_, 5, summary_);
  write();
}

void EventFile::write() {
  record_.clear();
  add_raw(record_, static_cast<uint64_t>(event_.size()));
  add_masked(record_, std::string_view(record_).substr(0, sizeof(uint64_t)));
  record_ += event_;
  add_masked(record_, event_);
  if (std::fwrite(record_.data(), 1, record_.size(), file_.get()) != record_.size())
    throw Failure("cannot write {}: {}", path_.string(), std::strerror(errno));
}

void EventFile::flush() {
  if (std::fflush(file_.get()) != 0)
    throw Failure("cannot write {}: {}", path_.string(), std::strerror(errno));
}

}  // namespace lockstep
