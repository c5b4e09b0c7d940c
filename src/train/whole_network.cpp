#include "train/whole_network.h"

namespace lockstep {
namespace {

constexpr int tensor_tag = 1;

const Parameters::Entry* owned(const std::vector<Parameters::Entry>& entries, size_t index) {
  for (const Parameters::Entry& entry : entries)
    if (entry.index == index && !entry.borrowed) return &entry;
  return nullptr;
}

// Every tensor goes from the stage that owns it to stage 0, one after the other.
void collect(const std::vector<LayerTensor>& tensors, const std::vector<LayerRange>& parts,
             Communicator& stages, const std::vector<Parameters::Entry>& mine,
             const HostMirror& values, const std::vector<Parameters::Entry>* whole,
             const HostMirror* into) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    int owner = 0;
    for (size_t part = 0; part < parts.size(); ++part)
      if (parts[part].contains(tensors[i].layer)) owner = static_cast<int>(part) % stages.size();
    const auto floats = static_cast<size_t>(tensors[i].spec.stored.elements());
    const auto at = [&](const Parameters::Entry& entry) {
      return static_cast<size_t>(entry.offset);
    };
    if (stages.rank() == owner) {
      const std::span<const float> own = values.download(at(*owned(mine, i)), floats);
      if (into)
        std::ranges::copy(own, into->floats().subspan(at((*whole)[i])).begin());
      else
        stages.send(std::as_bytes(own), 0, tensor_tag).wait();
    } else if (into) {
      const std::span<float> place = into->floats().subspan(at((*whole)[i]), floats);
      stages.receive(std::as_writable_bytes(place), owner, tensor_tag).wait();
    }
  }
}

}  // namespace

std::optional<Parameters> collect_network(Replica& replica) {
  Communicator& stages = replica.worker.groups.pipeline;
  if (stages.size() == 1 || replica.position.data != 0) return std::nullopt;
  std::optional<Parameters> whole;
  if (stages.rank() == 0) whole.emplace(replica.network);
  const Parameters& mine = replica.parameters;
  collect(replica.network.weight_tensors(), replica.parts, stages, mine.entries(),
          mine.weights_on_host(), whole ? &whole->entries() : nullptr,
          whole ? &whole->weights_on_host() : nullptr);
  collect(replica.network.state_tensors(), replica.parts, stages, mine.state_entries(),
          mine.state_on_host(), whole ? &whole->state_entries() : nullptr,
          whole ? &whole->state_on_host() : nullptr);
  return whole;
}

}  // namespace lockstep
