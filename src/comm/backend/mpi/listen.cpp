// lockstep_listen.so, for LD_PRELOAD: binds sockets that would listen on all interfaces to one.
//
// Open MPI's own settings (oob_tcp_if_include, btl_tcp_if_include) choose which addresses peers are
// told; its sockets are still bound to all interfaces. LOCKSTEP_LISTEN_ON names the interface; the
// default is "lo". Only C library functions are called, because it is loaded into other programs.
#include <dlfcn.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

bool is_wildcard(const sockaddr* address, socklen_t length) {
  if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in))
    return reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr == INADDR_ANY;
  if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6))
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  return false;
}

// First address of the interface in the family of `wanted`, with the port of `wanted`.
bool address_of(const char* interface, const sockaddr* wanted, sockaddr_storage* found) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return false;
  bool has_one = false;
  for (const ifaddrs* one = all; one && !has_one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != wanted->sa_family) continue;
    if (std::strcmp(one->ifa_name, interface) != 0) continue;
    has_one = true;
    if (wanted->sa_family == AF_INET) {
      auto* address = reinterpret_cast<sockaddr_in*>(found);
      std::memcpy(address, one->ifa_addr, sizeof *address);
      address->sin_port = reinterpret_cast<const sockaddr_in*>(wanted)->sin_port;
    } else {
      auto* address = reinterpret_cast<sockaddr_in6*>(found);
      std::memcpy(address, one->ifa_addr, sizeof *address);
      address->sin6_port = reinterpret_cast<const sockaddr_in6*>(wanted)->sin6_port;
    }
  }
  ::freeifaddrs(all);
  return has_one;
}

}  // namespace

extern "C" int bind(int socket, const sockaddr* address, socklen_t length) noexcept {
  using Bind = int (*)(int, const sockaddr*, socklen_t);
  static const auto next = reinterpret_cast<Bind>(::dlsym(RTLD_NEXT, "bind"));
  if (!address || !is_wildcard(address, length)) return next(socket, address, length);
  const char* interface = std::getenv("LOCKSTEP_LISTEN_ON");
  sockaddr_storage narrowed{};
  if (!address_of(interface ? interface : "lo", address, &narrowed)) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  return next(socket, reinterpret_cast<const sockaddr*>(&narrowed), length);
}
