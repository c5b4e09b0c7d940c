// Meshes: places of ranks, and texts such as data=2,pipeline=4.

#include "parallel/mesh/mesh.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

TEST(Mesh, ReplicasAreNeighbours) {
  const Mesh mesh{.data = 2, .pipeline = 3};
  EXPECT_EQ(position_of(mesh, 0).stage, 0);
  EXPECT_EQ(position_of(mesh, 2).stage, 2);
  EXPECT_EQ(position_of(mesh, 2).data, 0);
  EXPECT_EQ(position_of(mesh, 3).data, 1);
  EXPECT_EQ(position_of(mesh, 3).stage, 0);
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const MeshPosition at = position_of(mesh, rank);
    EXPECT_EQ(at.data * mesh.pipeline + at.stage, rank);
  }
}

TEST(Mesh, IsReadFromText) {
  ParallelConfig config;
  set_mesh(config, "pipeline=3,data=2");
  EXPECT_EQ(config.ranks, 6);
  EXPECT_EQ(config.pipeline, 3);
  EXPECT_EQ(mesh_of(config, 6), (Mesh{2, 3}));
  config = {.ranks = 8};
  set_mesh(config, "pipeline=4");  // the rest are replicas
  EXPECT_EQ(mesh_of(config, 8), (Mesh{2, 4}));
  EXPECT_EQ(to_text(mesh_of(config, 8)), "data=2, pipeline=4");
}

TEST(Mesh, MistakesAreExplained) {
  const auto error = [](int64_t ranks, const std::string& text) {
    ParallelConfig config{.ranks = ranks};
    return error_of<UserError>([&] {
      set_mesh(config, text);
      mesh_of(config, static_cast<int>(config.ranks));
    });
  };
  expect_says(error(8, "data=2,pipeline=2"), {"4 ranks", "there are 8", "--ranks 4"});
  expect_says(error(8, "data=2,pipline=2"), {"'pipline'", "pipeline"});
  expect_says(error(8, "pipeline"), {"'pipeline'", "pipeline=2"});
  for (const char* text : {"", "pipeline=", "pipeline=0", "pipeline=-1", "pipeline=2x", "=2", ",",
                           "pipeline=2,", "pipeline=99999999999999999999"})
    expect_says(error(8, text), {"--mesh"});
  expect_says(error(8, "pipeline=2,pipeline=2"), {"given twice"});
  expect_says(error(8, "pipeline=3"), {"8 ranks", "3 ranks each", "--ranks 6 or --ranks 9"});
  expect_says(error(2, "pipeline=3"), {"needs at least 3", "there are 2"});
}

}  // namespace
}  // namespace lockstep
