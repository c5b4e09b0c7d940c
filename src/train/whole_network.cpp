#include "train/whole_network.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr int tensor_tag = 1;

// A tensor's places in the arena of the whole network and, if this rank has it, in its own.
struct TensorPlace {
  size_t whole = 0, floats = 0;
  int owner = 0;  // stage
  const Parameters::Entry* mine = nullptr;
};

const std::vector<Parameters::Entry>& entries_of(const Parameters& parameters, ArenaKind kind) {
  return kind == ArenaKind::weights ? parameters.entries() : parameters.state_entries();
}

std::vector<TensorPlace> places_of(const Replica& replica, ArenaKind kind) {
  const std::vector<LayerTensor> tensors = kind == ArenaKind::weights
                                               ? replica.network.weight_tensors()
                                               : replica.network.state_tensors();
  std::vector<TensorPlace> places(tensors.size());
  size_t at = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    places[i].whole = at;
    places[i].floats = static_cast<size_t>(tensors[i].spec.stored.elements());
    for (size_t part = 0; part < replica.parts.size(); ++part)
      if (replica.parts[part].contains(tensors[i].layer))
        places[i].owner = static_cast<int>(part) % replica.mesh.pipeline;
    at += static_cast<size_t>(aligned_floats(static_cast<int64_t>(places[i].floats)));
  }
  for (const Parameters::Entry& entry : entries_of(replica.parameters, kind))
    if (TensorPlace& place = places[entry.index]; !place.mine || !entry.borrowed)
      place.mine = &entry;
  return places;
}

}  // namespace

size_t whole_arena_floats(const Replica& replica, ArenaKind kind) {
  return static_cast<size_t>(arena_floats(kind == ArenaKind::weights ? replica.network.parameters()
                                                                     : replica.network.state()));
}

// Every tensor goes from the stage that owns it to stage 0, one after the other.
std::vector<float> collect_arena(Replica& replica, std::span<const float> mine, ArenaKind kind) {
  Communicator& stages = replica.worker.groups.pipeline;
  const bool collects = stages.rank() == 0;
  std::vector<float> whole(collects ? whole_arena_floats(replica, kind) : 0);
  for (const TensorPlace& tensor : places_of(replica, kind)) {
    const auto into = [&] { return std::span(whole).subspan(tensor.whole, tensor.floats); };
    if (stages.rank() == tensor.owner) {
      const std::span<const float> own =
          mine.subspan(static_cast<size_t>(tensor.mine->offset), tensor.floats);
      if (collects)
        std::ranges::copy(own, into().begin());
      else
        stages.send(std::as_bytes(own), 0, tensor_tag).wait();
    } else if (collects) {
      stages.receive(std::as_writable_bytes(into()), tensor.owner, tensor_tag).wait();
    }
  }
  return whole;
}

std::vector<float> part_of_arena(const Replica& replica, std::span<const float> whole,
                                 ArenaKind kind) {
  const Parameters& parameters = replica.parameters;
  std::vector<float> mine(
      (kind == ArenaKind::weights ? parameters.weights() : parameters.state()).size());
  const std::vector<TensorPlace> places = places_of(replica, kind);
  for (const Parameters::Entry& entry : entries_of(parameters, kind)) {
    const TensorPlace& from = places[entry.index];
    std::ranges::copy(whole.subspan(from.whole, from.floats),
                      mine.begin() + static_cast<std::ptrdiff_t>(entry.offset));
  }
  return mine;
}

std::optional<Parameters> collect_network(Replica& replica) {
  if (replica.mesh.pipeline == 1 || replica.position.data != 0) return std::nullopt;
  const Parameters& mine = replica.parameters;
  const std::vector<float> weights =
      collect_arena(replica, mine.weights_on_host().download(), ArenaKind::weights);
  const std::vector<float> state =
      collect_arena(replica, mine.state_on_host().download(), ArenaKind::state);
  if (replica.position.stage != 0) return std::nullopt;
  std::optional<Parameters> whole(replica.network);
  std::ranges::copy(weights, whole->weights_on_host().floats().begin());
  std::ranges::copy(state, whole->state_on_host().floats().begin());
  return whole;
}

}  // namespace lockstep
