#include "comm/backend/mpi/congestion.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep {
namespace {

// Name of a socket's congestion control; empty if it is not a TCP socket.
std::string congestion_of(int socket) {
  char name[32] = {};
  socklen_t length = sizeof name;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0) return "";
  return name;
}

bool set_congestion(int socket, std::string_view name) {
  return ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

}  // namespace

void avoid_bbr() {
  std::error_code ignored;  // without /proc the connections stay as they are
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename().string();
    int file = -1;
    std::from_chars(name.data(), name.data() + name.size(), file);
    if (congestion_of(file).starts_with("bbr") && !set_congestion(file, "cubic"))
      set_congestion(file, "reno");
  }
}

}  // namespace lockstep
