#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <tuple>
#include <vector>

namespace lockstep {

// Messages of our own algorithms, as SimGrid's own communications. One can look whether such a
// communication is over and then wait for it, which ends it; a request of SMPI that MPI_Test ended
// is kept by SimGrid 3.32 and looked through at every later event.
class PostOffice {
 public:
  // Who sends to whom (ranks of the world), within which group, by which tag.
  struct Address {
    int group, from, to, tag;
  };
  class Letter;
  // One rank's end of a letter.
  class End {
   public:
    End(std::shared_ptr<Letter> letter, simgrid::s4u::CommPtr way)
        : letter_(std::move(letter)), way_(std::move(way)) {}
    bool over() const;
    void wait();  // in virtual time; from then on the data are where they should be

   private:
    std::shared_ptr<Letter> letter_;
    simgrid::s4u::CommPtr way_;  // none: a small letter, which leaves at once
  };

  explicit PostOffice(int ranks) : actors_(static_cast<size_t>(ranks)) {}

  void here(int rank) { actors_[static_cast<size_t>(rank)] = simgrid::s4u::Actor::self(); }
  // `data` may be null: the bytes then only take their time.
  End send(const Address& address, const std::byte* data, size_t bytes);
  End receive(const Address& address, std::byte* data, size_t bytes);

 private:
  // As MPI does: small messages leave at once, others when their receiver is ready.
  struct Box {
    simgrid::s4u::Mailbox* mailbox = nullptr;
    std::deque<std::shared_ptr<Letter>> expected, sent;
  };
  Box& box(const Address& address, bool small);

  std::vector<simgrid::s4u::Actor*> actors_;
  std::map<std::tuple<int, int, int, int, bool>, Box> boxes_;
};

}  // namespace lockstep
