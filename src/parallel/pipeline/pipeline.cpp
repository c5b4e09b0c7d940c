#include "parallel/pipeline/pipeline.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "tensor/host_mirror.h"

namespace lockstep {
namespace {

using enum Action::Kind;

// Messages between the same two ranks differ in direction and part; those of one kind arrive in the
// order of micro-batches.
int tag_of(Action::Kind direction, int part) { return 2 * part + (direction == forward ? 0 : 1); }

// Memory on the device and its mirror, for values that travel.
struct Travelling {
  DeviceMemory memory;
  HostMirror mirror;

  Travelling() = default;
  Travelling(Device& device, size_t floats)
      : memory(device.allocate(floats * sizeof(float))), mirror(&device, memory.floats()) {}
  float* data() const { return memory.floats().data(); }
};

}  // namespace

// One part of the network on this rank, and its messages.
class Pipeline::Chunk {
 public:
  Chunk(const Network& network, const Plan& plan, Communicator& stages, Device& device, int part,
        size_t index, int64_t in_flight)
      : part_(part),
        stages_(stages),
        slots_(static_cast<size_t>(in_flight)),
        program_(network, plan.loss, device, plan.batch, plan.sparse && part == 0, slots_,
                 plan.parts[static_cast<size_t>(part)], index),
        sent_outputs_(slots_) {
    const auto floats = [&](int64_t per_sample) {
      return static_cast<size_t>(plan.batch * per_sample);
    };
    if (!program_.is_first()) {
      // One more than there are slots: the next one arrives while all are in use.
      for (size_t i = 0; i <= slots_; ++i) inputs_.emplace_back(device, floats(program_.inputs()));
      arriving_inputs_.resize(inputs_.size());
      for (Travelling& gradient : input_gradients_)
        gradient = Travelling(device, floats(program_.inputs()));
    }
    if (!program_.is_last())
      for (Travelling& gradient : output_gradients_)
        gradient = Travelling(device, floats(program_.outputs_per_sample()));
  }

  Program& program() { return program_; }

  // Posts the receive of what the action needs from another rank, unless that has been done.
  void expect(const Action& action, int64_t rows) {
    if (action.kind == forward) {
      if (program_.is_first() || action.micro_batch < expected_inputs_) return;
      ENSURE(action.micro_batch == expected_inputs_);
      const size_t at = static_cast<size_t>(expected_inputs_++) % inputs_.size();
      arriving_inputs_[at] =
          receive(inputs_[at], rows * program_.inputs(), part_ - 1, forward, part_);
    } else {
      if (program_.is_last() || action.micro_batch < expected_gradients_) return;
      ENSURE(action.micro_batch == expected_gradients_);
      const size_t at = static_cast<size_t>(expected_gradients_++) % output_gradients_.size();
      arriving_gradients_[at] = receive(output_gradients_[at], rows * program_.outputs_per_sample(),
                                        part_ + 1, backward, part_ + 1);
    }
  }

  // Waits for the inputs, passes them forward, and sends the outputs on.
  WaitTimes go_forward(const Parameters& parameters, const Input& input, int64_t micro_batch,
                       int64_t rows, bool training, const SampleKeys& keys) {
    const size_t slot = static_cast<size_t>(micro_batch) % slots_;
    WaitTimes waited;
    wait(sent_outputs_[slot], waited);
    Input x = input;
    if (!program_.is_first()) {
      const size_t at = static_cast<size_t>(micro_batch) % inputs_.size();
      wait(arriving_inputs_[at], waited);
      const Travelling& arrived = inputs_[at];
      arrived.mirror.upload(0, static_cast<size_t>(rows * program_.inputs()));
      x = Input(static_cast<const float*>(arrived.data()));
    }
    program_.forward(parameters, x, rows, training, keys, slot);
    if (!program_.is_last())
      sent_outputs_[slot] = stages_.send(std::as_bytes(program_.outputs(slot)), stage_of(part_ + 1),
                                         tag_of(forward, part_ + 1));
    return waited;
  }

  // Waits for the gradients of the outputs, unless this part has the loss; passes them backward,
  // and sends those of the inputs on.
  WaitTimes go_backward(bool accumulate, int64_t micro_batch, int64_t rows) {
    const size_t slot = static_cast<size_t>(micro_batch) % slots_;
    const size_t side = static_cast<size_t>(micro_batch) % 2;
    WaitTimes waited;
    float *dy = nullptr, *dx = nullptr;
    if (!program_.is_last()) {
      wait(arriving_gradients_[side], waited);
      const Travelling& arrived = output_gradients_[side];
      arrived.mirror.upload(0, static_cast<size_t>(rows * program_.outputs_per_sample()));
      dy = arrived.data();
    }
    if (!program_.is_first()) {
      wait(sent_gradients_[side], waited);
      dx = input_gradients_[side].data();
    }
    program_.backward(accumulate, slot, dy, dx);
    if (dx) {
      const auto floats = static_cast<size_t>(rows * program_.inputs());
      sent_gradients_[side] =
          stages_.send(std::as_bytes(input_gradients_[side].mirror.download(0, floats)),
                       stage_of(part_ - 1), tag_of(backward, part_));
    }
    return waited;
  }

  size_t slot_of(int64_t micro_batch) const { return static_cast<size_t>(micro_batch) % slots_; }

  // Lets messages progress; does not wait.
  void advance() {
    for (Request& arriving : arriving_inputs_) arriving.test();
    for (Request& arriving : arriving_gradients_) arriving.test();
    for (Request& sent : sent_outputs_) sent.test();
    for (Request& sent : sent_gradients_) sent.test();
  }

  // The end of a step: all messages have arrived.
  void finish() {
    for (Request& sent : sent_outputs_) sent.wait();
    for (Request& sent : sent_gradients_) sent.wait();
    expected_inputs_ = expected_gradients_ = 0;
  }

 private:
  int stage_of(int part) const { return part % stages_.size(); }

  static void wait(Request& request, WaitTimes& times) {
    const WaitTimes more = request.wait();
    times.waiting += more.waiting;
    times.moving += more.moving;
  }

  Request receive(const Travelling& into, int64_t floats, int from_part, Action::Kind direction,
                  int tagged_part) {
    const std::span<float> buffer = into.mirror.floats().first(static_cast<size_t>(floats));
    return stages_.receive(std::as_writable_bytes(buffer), stage_of(from_part),
                           tag_of(direction, tagged_part));
  }

  const int part_;  // of the network
  Communicator& stages_;
  size_t slots_;
  Program program_;
  std::vector<Travelling> inputs_;
  std::array<Travelling, 2> output_gradients_, input_gradients_;
  std::vector<Request> arriving_inputs_;       // by buffer of inputs_
  std::array<Request, 2> arriving_gradients_;  // by buffer of output_gradients_
  int64_t expected_inputs_ = 0, expected_gradients_ = 0;
  std::vector<Request> sent_outputs_;  // by slot
  std::array<Request, 2> sent_gradients_;
};

// Lets messages progress between layers, and tells others of the layers.
class Pipeline::Progress final : public PassListener {
 public:
  explicit Progress(Pipeline& pipeline) : pipeline_(pipeline) {}

  void loss_done(const LossSums& sums) override {
    if (buckets) buckets->loss_done(sums);
  }
  void layer_done(const std::string& layer, bool backward, std::span<float> gradients) override {
    if (pipeline_.stages_.size() > 1)
      for (auto& chunk : pipeline_.chunks_) chunk->advance();
    if (buckets) buckets->layer_done(layer, backward, gradients);
    if (pipeline_.watcher_) pipeline_.watcher_->layer_done(layer, backward, gradients);
  }

  GradientBuckets* buckets = nullptr;  // while gradients are completed

 private:
  Pipeline& pipeline_;
};

Pipeline::Pipeline(const Network& network, const Plan& plan, Communicator& stages, Device& device)
    : plan_(plan),
      stages_(stages),
      alone_(stages.size() == 1),
      progress_(std::make_unique<Progress>(*this)) {
  ENSURE(plan.parts.size() <= static_cast<size_t>(most_parts));
  for (size_t part = 0; part < plan.parts.size(); ++part)
    if (borrows_first_tensor(network.layers(), network.input(), plan.parts[part]))
      borrower_ = static_cast<int>(part) % stages.size();
  const std::vector<Action>& all = actions(plan.micro_batches);
  for (int chunk = 0; chunk < plan.chunks; ++chunk)
    chunks_.push_back(std::make_unique<Chunk>(
        network, plan_, stages, device, chunk * stages.size() + stages.rank(),
        static_cast<size_t>(chunk), std::max<int64_t>(1, most_in_flight(all, chunk))));
}

Pipeline::~Pipeline() = default;

std::vector<LayerRange> Pipeline::layers_of(const std::vector<LayerRange>& parts, int stages,
                                            int stage) {
  std::vector<LayerRange> layers;
  for (size_t part = static_cast<size_t>(stage); part < parts.size();
       part += static_cast<size_t>(stages))
    layers.push_back(parts[part]);
  return layers;
}

PipelineShape Pipeline::shape_of(int64_t micro_batches) const {
  return {.schedule = plan_.schedule,
          .stages = stages_.size(),
          .chunks = plan_.chunks,
          .micro_batches = micro_batches};
}

const std::vector<Action>& Pipeline::actions(int64_t micro_batches) {
  if (actions_for_ != micro_batches) {
    PipelineShape shape = shape_of(micro_batches);
    // A shorter last step: interleaved rounds are of as many micro-batches as stages, some empty.
    if (shape.schedule == Schedule::interleaved)
      shape.micro_batches =
          (micro_batches + shape.stages - 1) / shape.stages * int64_t{shape.stages};
    actions_ = actions_of(shape, stages_.rank());
    std::erase_if(actions_, [&](const Action& a) { return a.micro_batch >= micro_batches; });
    actions_for_ = micro_batches;
  }
  return actions_;
}

int64_t Pipeline::held_batches() {
  return std::max<int64_t>(1, most_held(actions(plan_.micro_batches)));
}

double Pipeline::bubble() const { return bubble_of(shape_of(plan_.micro_batches)); }

int64_t Pipeline::answers() const { return chunks_.front()->program().answers(); }
Program& Pipeline::program() { return chunks_.front()->program(); }

void Pipeline::gradients(const Parameters& parameters, BatchSource& source, const Step& step,
                         const Clock& clock, StepResult& result) {
  if (alone_)
    gradients_alone(parameters, source, step, clock, result);
  else
    gradients_together(parameters, source, step, clock, result);
}

// Micro-batches may have any sizes: the step may be of several batches.
void Pipeline::gradients_alone(const Parameters& parameters, BatchSource& source, const Step& step,
                               const Clock& clock, StepResult& result) {
  Program& program = chunks_.front()->program();
  double now = clock.seconds();
  for (int64_t done = 0; done < step.rows;) {
    const MicroBatch batch = source.next();
    const double loaded = clock.seconds();
    const bool completes = done + batch.rows == step.rows && step.buckets;
    if (completes) step.buckets->arm(StepTail::of(result));
    const bool listens = completes || watcher_;
    if (listens) progress_->buckets = completes ? step.buckets : nullptr;
    program.listen(listens ? progress_.get() : nullptr);
    program.forward(parameters, batch.input, batch.rows, true, batch.keys);
    const LossSums sums = program.loss_gradient(batch.targets, step.divisor);
    if (listens) progress_->loss_done(sums);
    program.backward(step.accumulate || done > 0);
    result.loss += sums.loss;
    result.correct += sums.correct;
    result.times.load += loaded - now;
    if (step.trace) step.trace->add("load", now, loaded);
    now = clock.seconds();
    if (step.trace) step.trace->add("forward and backward", loaded, now);
    result.gradient_seconds += now - loaded;
    done += batch.rows;
  }
}

void Pipeline::gradients_together(const Parameters& parameters, BatchSource& source,
                                  const Step& step, const Clock& clock, StepResult& result) {
  const int64_t count = (step.rows + plan_.batch - 1) / plan_.batch;
  const std::vector<Action>& all = actions(count);
  const auto rows_of = [&](int64_t micro_batch) {
    return std::min(plan_.batch, step.rows - micro_batch * plan_.batch);
  };
  bool armed = false;
  batches_.clear();
  double now = clock.seconds();
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [kind, index, micro_batch] = all[i];
    Chunk& chunk = *chunks_[static_cast<size_t>(index)];
    Program& program = chunk.program();
    if (kind == forward && micro_batch == static_cast<int64_t>(batches_.size())) {
      batches_.push_back(source.next());
      ENSURE(batches_.back().rows == rows_of(micro_batch));
      const double loaded = clock.seconds();
      if (step.trace) step.trace->add("load", now, loaded);
      result.times.load += loaded - now;
      now = loaded;
    }
    chunk.expect(all[i], rows_of(micro_batch));
    if (i + 1 < all.size())
      chunks_[static_cast<size_t>(all[i + 1].chunk)]->expect(all[i + 1],
                                                             rows_of(all[i + 1].micro_batch));
    const MicroBatch& batch = batches_[static_cast<size_t>(micro_batch)];
    program.listen(progress_.get());
    WaitTimes waited;
    if (kind == forward) {
      waited = chunk.go_forward(parameters, batch.input, micro_batch, batch.rows, true, batch.keys);
    } else {
      const bool completes = micro_batch == count - 1 && step.buckets;
      if (completes && !armed) step.buckets->arm(StepTail::of(result));
      armed = armed || completes;
      LossSums sums;
      if (program.is_last())
        sums = program.loss_gradient(batch.targets, step.divisor, chunk.slot_of(micro_batch));
      result.loss += sums.loss;
      result.correct += sums.correct;
      progress_->buckets = completes ? step.buckets : nullptr;
      // The chunk with the last layers completes its gradients first.
      if (index == plan_.chunks - 1) progress_->loss_done(sums);
      waited = chunk.go_backward(step.accumulate || micro_batch > 0, micro_batch, batch.rows);
      progress_->buckets = nullptr;
    }
    const double ended = clock.seconds();
    if (step.trace) step.trace->add(kind == forward ? "forward" : "backward", now, ended);
    result.gradient_seconds += ended - now - waited.waiting - waited.moving;
    result.times.waiting += waited.waiting;
    result.times.exposed += waited.moving;
    now = ended;
  }
  for (auto& chunk : chunks_) {
    chunk->finish();
    chunk->program().listen(nullptr);
  }
  result.times.exposed += clock.seconds() - now;
}

void Pipeline::pass_forward(const Parameters& parameters, const Input& input, int64_t rows,
                            const SampleKeys& keys, const UseOutputs& use) {
  for (auto& chunk : chunks_) {
    const Action action{.kind = Action::Kind::forward, .chunk = 0, .micro_batch = 0};
    chunk->expect(action, rows);
    chunk->go_forward(parameters, input, 0, rows, false, keys);
    if (chunk->program().is_last()) use(chunk->program());
    chunk->finish();
  }
}

}  // namespace lockstep
