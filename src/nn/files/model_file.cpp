#include "nn/files/model_file.h"

#include <map>

#include "base/error.h"
#include "base/nearest.h"

namespace lockstep {
namespace {

std::vector<int64_t> extents(const Shape& shape) {
  std::vector<int64_t> all;
  for (int axis = 0; axis < shape.rank(); ++axis) all.push_back(shape[axis]);
  return all;
}

std::string text(const std::vector<int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

struct Slot {
  const Parameters::Entry* entry;
  const HostMirror* memory;
};

std::map<std::string, Slot> slots(const Parameters& parameters) {
  std::map<std::string, Slot> all;
  for (const auto& entry : parameters.entries())
    all[entry.spec.name] = {&entry, &parameters.weights_on_host()};
  for (const auto& entry : parameters.state_entries())
    all[entry.spec.name] = {&entry, &parameters.state_on_host()};
  return all;
}

}  // namespace

std::vector<uint8_t> model_bytes(const Parameters& parameters, const std::string& network) {
  std::vector<NamedTensor> tensors;
  const auto add = [&](const std::vector<Parameters::Entry>& entries, const HostMirror& memory) {
    for (const auto& entry : entries)
      tensors.push_back(
          {entry.spec.name, extents(entry.spec.canonical), Parameters::read(entry, memory)});
  };
  add(parameters.entries(), parameters.weights_on_host());
  add(parameters.state_entries(), parameters.state_on_host());
  return safetensors_bytes(tensors, {{"format", "pt"}, {"network", network}});
}

std::string network_of(const TensorFile& file, const fs::path& path) {
  const auto found = file.metadata.find("network");
  if (found == file.metadata.end())
    throw UserError("{} was not saved by lockstep: its metadata lacks 'network'", path.string());
  return found->second;
}

void take_tensors(const TensorFile& file, const fs::path& path, Parameters& parameters) {
  std::map<std::string, Slot> missing = slots(parameters);
  for (const NamedTensor& tensor : file.tensors) {
    const auto found = missing.find(tensor.name);
    if (found == missing.end())
      throw UserError(
          "{} has a tensor '{}' that this network does not have; is it the model of another "
          "network?",
          path.string(), tensor.name);
    const Slot& slot = found->second;
    const std::vector<int64_t> expected = extents(slot.entry->spec.canonical);
    if (tensor.shape != expected)
      throw UserError(
          "{}: tensor '{}' has shape {}, this network needs {}; is it the model of another "
          "network?",
          path.string(), tensor.name, text(tensor.shape), text(expected));
    Parameters::write(*slot.entry, tensor.values, *slot.memory);
    missing.erase(found);
  }
  if (!missing.empty())
    throw UserError("{} lacks tensor '{}'; is it the model of another network?", path.string(),
                    missing.begin()->first);
}

}  // namespace lockstep
