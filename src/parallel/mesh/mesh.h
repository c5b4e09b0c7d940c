#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "parallel/parallel_config.h"

namespace lockstep {

// How ranks divide the work: `data` replicas of the network, each cut into `pipeline` stages.
struct Mesh {
  int data = 1, pipeline = 1;

  int ranks() const { return data * pipeline; }
  int per_replica() const { return pipeline; }
  bool operator==(const Mesh&) const = default;
};

// Ranks of a replica are neighbours.
struct MeshPosition {
  int data = 0, stage = 0;
};

// The mesh of `ranks` ranks. Throws a UserError if they cannot form replicas of the configured
// size.
Mesh mesh_of(const ParallelConfig& config, int ranks);
MeshPosition position_of(const Mesh& mesh, int rank);
std::string to_text(const Mesh& mesh);  // "data=2, pipeline=4"
// "data=2,pipeline=4", in any order; what is left out is 1, or what the number of ranks gives.
void set_mesh(ParallelConfig& config, const std::string& text);

// The groups that a rank communicates with, by what their ranks have in common. A group may be of
// one rank.
struct Groups {
  Communicator& all;
  Communicator& data;      // ranks with the same layers and different samples
  Communicator& pipeline;  // ranks with the same samples and different layers, by stage
};

// Splits the ranks into the groups of a mesh.
class MeshGroups {
 public:
  MeshGroups(const Mesh& mesh, Communicator& ranks);

  Groups groups() { return {*all_, data_ ? *data_ : *all_, *pipeline_}; }

 private:
  Communicator* all_;
  std::unique_ptr<Communicator> data_, pipeline_;  // data: null if it is all ranks
};

}  // namespace lockstep
