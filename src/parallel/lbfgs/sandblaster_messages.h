#pragma once

#include <cstdint>
#include <span>

#include "comm/communicator.h"

namespace lockstep::sandblaster {

enum Tag {
  ask_tag = 1,       // worker to coordinator
  task_tag = 2,      // coordinator to worker
  command_tag = 3,   // coordinator or worker to server
  operand_tag = 4,   // of a command, from the coordinator
  reply_tag = 5,     // server to coordinator
  gradient_tag = 6,  // worker to server
  weights_tag = 7    // server to worker
};

// A worker is free: at the begin of a step, or after a portion.
struct Ask {
  enum class Kind { begin, finished, end_of_epoch } kind = Kind::begin;
  int64_t step = 0;                       // of the epoch
  int64_t evaluation = -1, portion = -1;  // finished
  double loss = 0;                        // sum over the portion's rows
  int64_t correct = 0;
  int64_t rows = 0, portions = 0;  // begin: of the batch
  double rate = 0;                 // begin
  bool stop = false;               // begin: this worker was asked to stop
};

struct Task {
  enum class Kind { compute, end_of_step } kind = Kind::compute;
  int64_t evaluation = 0, portion = 0;  // compute
  double loss = 0, gradient_norm = 0;   // end of step; the loss is a sum over rows
  int64_t correct = 0, rows = 0;
  bool stop = false;
};

// What a server does with its shard of the vectors.
struct Command {
  enum class Kind {
    // from workers
    send_weights,  // of an evaluation
    add_gradient,  // of a portion; the gradient follows
    // from the coordinator
    evaluate,    // gradients of so many portions follow
    finish,      // replies, when all have come, with the sums of Evaluated
    products,    // of `count` vectors, which follow; replies with sums per block
    begin_line,  // coefficients follow; replies with direction · gradient per block
    move,        // to a step of the line
    move_back,
    remember,  // in a slot
    end_of_epoch
  } kind = Kind::end_of_epoch;
  int64_t evaluation = 0, portion = 0, count = 0, slot = 0;
  double step = 0;
};

// Sums per block in a server's reply to `finish`, one after the other.
enum class Evaluated { gradient_squares, slope, weight_squares, count };

template <typename T>
ConstBytes bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
Bytes into(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace lockstep::sandblaster
