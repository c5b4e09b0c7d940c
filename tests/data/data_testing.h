#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "data/fetch/folders.h"
#include "os/files.h"

namespace lockstep {

using Content = std::vector<uint8_t>;

// A test with its own temporary folder.
class InFolder : public testing::Test {
 protected:
  fs::path write(const std::string& name, const Content& content) {
    make_folder((folder() / name).parent_path());
    write_file(folder() / name, content);
    return folder() / name;
  }
  fs::path write(const std::string& name, std::string_view content) {
    return write(name, Content(content.begin(), content.end()));
  }
  const fs::path& folder() const { return scratch_.path(); }

 private:
  ScratchFolder scratch_{fs::temp_directory_path()};
};

// Sets an environment variable during its lifetime.
class WithVariable {
 public:
  WithVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~WithVariable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// The message of the Error that the call must throw.
template <typename Error, typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another kind of error: ") + error.what();
  }
  return "no error";
}

inline void expect_says(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
}

inline void append_number(Content& bytes, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<uint8_t>(number >> shift));
}

inline Content idx_header(const std::vector<uint32_t>& extents) {
  Content bytes;
  append_number(bytes, 0x800u | static_cast<uint32_t>(extents.size()));
  for (const uint32_t extent : extents) append_number(bytes, extent);
  return bytes;
}

// Images of height × width whose pixels count up from 0.
inline Content idx_images(uint32_t count, uint32_t height, uint32_t width) {
  Content bytes = idx_header({count, height, width});
  for (uint32_t i = 0; i < count * height * width; ++i) bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

inline Content idx_labels(const Content& labels) {
  Content bytes = idx_header({static_cast<uint32_t>(labels.size())});
  bytes.insert(bytes.end(), labels.begin(), labels.end());
  return bytes;
}

}  // namespace lockstep
