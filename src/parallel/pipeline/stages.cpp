#include "parallel/pipeline/stages.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep {
namespace {

// Above those of Pipeline.
constexpr int shared_tensor_tag = 2 * Pipeline::most_parts;

// The entry of the first tensor, and whether it is borrowed; null: this stage does not have it.
const Parameters::Entry* first_tensor(const Parameters& parameters) {
  for (const Parameters::Entry& entry : parameters.entries())
    if (entry.index == 0) return &entry;
  return nullptr;
}

}  // namespace

void share_borrowed_tensor(Worker& worker) {
  Communicator& stages = worker.groups.pipeline;
  const int borrower = worker.pipeline.borrower(), owner = 0;
  if (borrower < 0 || (stages.rank() != borrower && stages.rank() != owner)) return;
  const Parameters::Entry* mine = first_tensor(worker.parameters);
  if (!mine) return;  // frozen: it has no gradients
  const auto begin = static_cast<size_t>(mine->offset);
  const auto count = static_cast<size_t>(mine->spec.stored.elements());
  const HostMirror& mirror = worker.parameters.gradients_on_host();
  const int other = stages.rank() == owner ? borrower : owner;
  const DeviceMemory theirs = worker.device.allocate(count * sizeof(float));
  const HostMirror arrived(&worker.device, theirs.floats().first(count));
  const std::span<float> own = mirror.download(begin, count);
  const auto send = [&] { stages.send(std::as_bytes(own), other, shared_tensor_tag).wait(); };
  // In turn: a rank that waits for its own message to be taken does not take the other's.
  if (stages.rank() == owner) send();
  stages.receive(std::as_writable_bytes(arrived.floats()), other, shared_tensor_tag).wait();
  if (stages.rank() != owner) send();
  arrived.upload();
  worker.device.add(worker.parameters.gradients().subspan(begin, count),
                    theirs.floats().first(count));
}

double stages_together(Worker& worker, StepResult& result) {
  struct Figures {
    double loss, squares_before;
    int64_t correct;
    bool stop;
  };
  Communicator& stages = worker.groups.pipeline;
  std::vector<double> sums;
  const double before = worker.optimizer.squares(worker.parameters, sums);
  double squares = 0;
  StepResult all = result;
  all.loss = 0, all.correct = 0;
  for (const Figures& stage :
       gather_all(stages, Figures{result.loss, before, result.correct, result.stop})) {
    squares += stage.squares_before;  // of touched rows, which the first stage has
    all.loss += stage.loss;
    all.correct += stage.correct;
    all.stop = all.stop || stage.stop;
  }
  result.loss = all.loss;
  result.correct = all.correct;
  result.stop = all.stop;

  // Each stage fills the sums of its tensors; then they are added in the order of the network.
  struct TensorSum {
    int64_t index = -1;  // -1: none
    double sum = 0;
  };
  const std::vector<Parameters::Entry>& entries = worker.parameters.entries();
  size_t most = 0;
  for (const size_t count : gather_all(stages, entries.size())) most = std::max(most, count);
  std::vector<TensorSum> mine(most), whole(most * static_cast<size_t>(stages.size()));
  for (size_t i = 0; i < entries.size(); ++i)
    if (!entries[i].borrowed) mine[i] = {static_cast<int64_t>(entries[i].index), sums[i]};
  const std::vector<int64_t> bytes(static_cast<size_t>(stages.size()),
                                   static_cast<int64_t>(most * sizeof(TensorSum)));
  stages.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(whole)), bytes)
      .wait();
  std::ranges::sort(whole, {}, &TensorSum::index);
  for (const TensorSum& tensor : whole)
    if (tensor.index >= 0) squares += tensor.sum;
  return std::sqrt(squares);
}

}  // namespace lockstep
