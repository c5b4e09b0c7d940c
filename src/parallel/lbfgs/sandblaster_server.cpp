#include "parallel/lbfgs/sandblaster_server.h"

namespace lockstep::sandblaster {

Server::Server(Worker& worker, const OptimizerConfig& optimizer, const ArenaPart& shard,
               int coordinator)
    : worker_(worker),
      ranks_(worker.groups.data),
      decay_(optimizer.weight_decay),
      coordinator_(coordinator),
      history_(worker.device, optimizer.history, shard),
      sum_(worker.device, shard.floats()) {
  for (DeviceMemory* memory : {&weights_before_, &gradient_before_, &direction_})
    *memory = worker.device.allocate(shard.floats() * sizeof(float));
}

void Server::serve() {
  Command command;
  int from = 0;
  do {
    ranks_.receive_any(into(command), command_tag, from).wait();
  } while (obey(command, from));
}

template <typename T>
std::vector<T> Server::operand(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  ranks_.receive(std::as_writable_bytes(std::span(values)), coordinator_, operand_tag).wait();
  return values;
}

void Server::reply(std::span<const double> values) {
  ranks_.send(std::as_bytes(values), coordinator_, reply_tag).wait();
}

bool Server::obey(const Command& command, int from) {
  Device& device = worker_.device;
  switch (command.kind) {
    case Command::Kind::send_weights:
      if (command.evaluation > evaluation_)
        waiting_.push_back({from, command.evaluation});
      else
        send_weights(from);
      break;
    case Command::Kind::add_gradient:
      add_gradient(command, from);
      break;
    case Command::Kind::evaluate:
      evaluation_ = command.evaluation;
      sum_.begin(command.count);
      std::erase_if(waiting_, [&](const Waiting& one) {
        if (one.evaluation > evaluation_) return false;
        send_weights(one.worker);
        return true;
      });
      break;
    case Command::Kind::finish:
      finishing_ = true;
      finish_if_complete();
      break;
    case Command::Kind::products:
      products(command.count);
      break;
    case Command::Kind::begin_line:
      begin_line(command.count);
      break;
    case Command::Kind::move:
      device.copy(weights_before_.floats(), weights());
      device.add_scaled(weights(), direction_.floats(), static_cast<float>(command.step));
      break;
    case Command::Kind::move_back:
      device.copy(weights_before_.floats(), weights());
      device.copy(gradient_before_.floats(), gradient());
      break;
    case Command::Kind::remember:
      history_.remember(static_cast<int>(command.slot), weights(), weights_before_.floats(),
                        gradient(), gradient_before_.floats());
      break;
    case Command::Kind::end_of_epoch:
      return false;
  }
  return true;
}

void Server::send_weights(int to) {
  const ArenaPart& shard = history_.part();
  const HostMirror& weights = worker_.parameters.weights_on_host();
  ranks_.send(std::as_bytes(weights.download(shard.begin(), shard.floats())), to, weights_tag)
      .wait();
}

void Server::add_gradient(const Command& command, int from) {
  TreeSum::Array array = sum_.take();
  ranks_.receive(std::as_writable_bytes(array.mirror.floats()), from, gradient_tag).wait();
  // The result of a backup copy, or of an evaluation that is over.
  if (command.evaluation != evaluation_ || sum_.has(command.portion))
    return sum_.give_back(std::move(array));
  array.mirror.upload();
  sum_.add(command.portion, std::move(array));
  finish_if_complete();
}

void Server::finish_if_complete() {
  if (!finishing_ || !sum_.complete()) return;
  finishing_ = false;
  Device& device = worker_.device;
  device.copy(sum_.sum(), gradient());
  if (decay_ > 0) device.add_scaled(gradient(), weights(), static_cast<float>(decay_));
  std::vector<double> sums = history_.product(gradient(), gradient());
  const std::vector<double> slope = history_.product(direction_.floats(), gradient());
  sums.insert(sums.end(), slope.begin(), slope.end());
  const std::vector<double> squares =
      decay_ > 0 ? history_.product(weights(), weights()) : std::vector<double>(slope.size(), 0.0);
  sums.insert(sums.end(), squares.begin(), squares.end());
  reply(sums);
}

void Server::begin_line(int64_t coefficients) {
  const std::vector<double> combination = operand<double>(coefficients);
  worker_.device.copy(weights(), weights_before_.floats());
  worker_.device.copy(gradient(), gradient_before_.floats());
  history_.combine(combination, gradient(), direction_.floats());
  reply(history_.product(direction_.floats(), gradient()));
}

void Server::products(int64_t vectors) {
  const std::vector<int> wanted = operand<int>(vectors);
  reply(history_.products(wanted, gradient()));
}

}  // namespace lockstep::sandblaster
