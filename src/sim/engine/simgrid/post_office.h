#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <tuple>
#include <vector>

namespace lockstep {

// Messages of our own algorithms as SimGrid communications. These can be polled and then waited
// for, which releases them. SimGrid 3.32 keeps SMPI requests that MPI_Test completed, and searches
// them at every later event.
class PostOffice {
 public:
  // Group, sender and receiver (ranks of the world), and tag.
  struct Address {
    int group, from, to, tag;
  };
  class Message;
  // One rank's end of a message.
  class End {
   public:
    End(std::shared_ptr<Message> message, simgrid::s4u::CommPtr way)
        : message_(std::move(message)), way_(std::move(way)) {}
    bool over() const;
    void wait();  // in virtual time; afterwards the data are delivered

   private:
    std::shared_ptr<Message> message_;
    simgrid::s4u::CommPtr way_;  // null: a small message, sent at once
  };

  explicit PostOffice(int ranks) : actors_(static_cast<size_t>(ranks)) {}

  void here(int rank) { actors_[static_cast<size_t>(rank)] = simgrid::s4u::Actor::self(); }
  // `data` may be null: the message then takes time but carries no data. `hidden`: bytes that take
  // no time.
  End send(const Address& address, const std::byte* data, size_t bytes, double hidden = 0);
  End receive(const Address& address, std::byte* data, size_t bytes);

 private:
  // As with MPI, small messages are sent at once, others when their receiver is ready.
  struct Box {
    simgrid::s4u::Mailbox* mailbox = nullptr;
    std::deque<std::shared_ptr<Message>> expected, sent;
  };
  Box& box(const Address& address, bool small);

  std::vector<simgrid::s4u::Actor*> actors_;
  std::map<std::tuple<int, int, int, int, bool>, Box> boxes_;
};

}  // namespace lockstep
