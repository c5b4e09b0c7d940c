#include "sim/engine/simgrid/post_office.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "comm/communicator.h"
#include "sim/engine/engine.h"

namespace lockstep {

namespace s4u = simgrid::s4u;

class PostOffice::Message {
 public:
  explicit Message(size_t bytes) : bytes_(bytes) {}

  void sent(const std::byte* data, bool copied) {
    from_ = data;
    if (!data || !copied) return;
    copy_.assign(data, data + bytes_);
    from_ = copy_.data();
  }
  void expected(std::byte* data) { to_ = data; }
  void end_started() { ++started_; }
  bool met() const { return started_ == 2; }  // only then get_remaining() is meaningful

  // Called by the first rank that sees the end: both may reuse their memory from then on.
  void deliver() {
    if (from_ && to_) std::memcpy(to_, from_, bytes_);
    from_ = nullptr;
  }

 private:
  size_t bytes_;
  int started_ = 0;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::vector<std::byte> copy_;
};

namespace {

// SimGrid requires an address for each communication, but neither it nor SMPI accesses the data.
void* some_address() {
  static void* nothing = nullptr;
  return &nothing;
}
void copy_nothing(simgrid::kernel::activity::CommImpl*, void*, size_t) {}

// Small messages are. Segments of a stream are sent one after the other, whatever their size.
bool is_sent_at_once(const PostOffice::Address& address, size_t bytes) {
  return bytes < eager_bytes && address.tag < first_stream_tag;
}

template <class Messages>
auto take_first(Messages& messages) {
  auto first = std::move(messages.front());
  messages.pop_front();
  return first;
}

}  // namespace

bool PostOffice::End::over() const {
  return !way_ || (message_->met() && way_->get_remaining() <= 0);
}

void PostOffice::End::wait() {
  if (!way_) return;
  way_->wait();
  message_->deliver();
}

PostOffice::End PostOffice::send(const Address& address, const std::byte* data, size_t bytes,
                                 double hidden) {
  const bool small = is_sent_at_once(address, bytes);
  Box& to = box(address, small);
  std::shared_ptr<Message> message;
  if (to.expected.empty())
    message = to.sent.emplace_back(std::make_shared<Message>(bytes));
  else
    message = take_first(to.expected);
  message->sent(data, small);
  const auto visible = static_cast<size_t>(std::max(1.0, static_cast<double>(bytes) - hidden));
  s4u::CommPtr way =
      to.mailbox->put_init(some_address(), visible)->set_copy_data_callback(copy_nothing);
  small ? way->detach() : way->start();
  message->end_started();
  return {std::move(message), small ? nullptr : std::move(way)};
}

PostOffice::End PostOffice::receive(const Address& address, std::byte* data, size_t bytes) {
  Box& from = box(address, is_sent_at_once(address, bytes));
  std::shared_ptr<Message> message;
  if (from.sent.empty())
    message = from.expected.emplace_back(std::make_shared<Message>(bytes));
  else
    message = take_first(from.sent);
  message->expected(data);
  s4u::CommPtr way = from.mailbox->get_init();
  way->set_dst_data(static_cast<void**>(some_address()), sizeof(void*));
  way->set_copy_data_callback(copy_nothing)->start();
  message->end_started();
  return {std::move(message), std::move(way)};
}

PostOffice::Box& PostOffice::box(const Address& address, bool small) {
  const auto& [group, from, to, tag] = address;
  Box& found = boxes_[{group, from, to, tag, small}];
  if (!found.mailbox) {
    found.mailbox =
        s4u::Mailbox::by_name(fmt::format("{}:{}>{}:{}:{}", group, from, to, tag, small));
    if (small) found.mailbox->set_receiver(actors_[static_cast<size_t>(to)]);
  }
  return found;
}

}  // namespace lockstep
