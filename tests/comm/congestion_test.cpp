#include "comm/backend/mpi/congestion.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace lockstep {
namespace {

class TcpSocket {
 public:
  TcpSocket() : file_(::socket(AF_INET, SOCK_STREAM, 0)) {}
  ~TcpSocket() { ::close(file_); }
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  bool choose(const std::string& congestion) {
    return ::setsockopt(file_, IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                        static_cast<socklen_t>(congestion.size())) == 0;
  }
  std::string congestion() const {
    char name[32] = {};
    socklen_t length = sizeof name;
    ::getsockopt(file_, IPPROTO_TCP, TCP_CONGESTION, name, &length);
    return name;
  }

 private:
  int file_;
};

TEST(Congestion, BbrIsReplaced) {
  TcpSocket socket;
  if (!socket.choose("bbr")) GTEST_SKIP() << "this kernel does not offer BBR";
  avoid_bbr();
  EXPECT_TRUE(socket.congestion() == "cubic" || socket.congestion() == "reno")
      << socket.congestion();
}

TEST(Congestion, OtherChoicesAreKept) {
  TcpSocket socket;
  ASSERT_TRUE(socket.choose("reno"));
  avoid_bbr();
  EXPECT_EQ(socket.congestion(), "reno");
}

}  // namespace
}  // namespace lockstep
