#include "parallel/mesh/mesh.h"

#include <charconv>
#include <map>

#include "base/error.h"
#include "base/nearest.h"
#include "comm/backend/self.h"

namespace lockstep {
namespace {

const std::vector<std::string> axes = {"data", "pipeline"};

std::map<std::string, int64_t> parse(const std::string& text) {
  if (text.empty()) throw UserError("--mesh is empty; expected e.g. --mesh pipeline=2");
  std::map<std::string, int64_t> sizes;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const size_t equals = part.find('=');
    const std::string axis = part.substr(0, equals);
    const std::string number = equals == std::string::npos ? "" : part.substr(equals + 1);
    int64_t size = 0;
    const char* const last = number.data() + number.size();
    if (std::find(axes.begin(), axes.end(), axis) == axes.end())
      throw UserError("--mesh {}: '{}' is no axis of a mesh; {}", text, axis,
                      suggestion(axis, axes));
    if (std::from_chars(number.data(), last, size).ptr != last || number.empty() || size < 1 ||
        size > 1 << 20)
      throw UserError("--mesh {}: '{}' is not possible; expected {}=N with N from 1, such as {}=2",
                      text, part, axis, axis);
    if (!sizes.emplace(axis, size).second)
      throw UserError("--mesh {}: {} is given twice; give each axis once", text, axis);
    at = end + 1;
  }
  return sizes;
}

}  // namespace

Mesh mesh_of(const ParallelConfig& config, int ranks) {
  if (config.pipeline == 1 && config.schedule != ParallelConfig{}.schedule)
    throw UserError(
        "parallel.schedule = \"{}\" needs a pipeline of several stages; use e.g. --mesh pipeline=2",
        to_text(config.schedule));
  const int64_t per_replica = config.pipeline;
  if (per_replica > ranks)
    throw UserError(
        "parallel.pipeline = {} needs at least {} ranks, there are {}; use --ranks {}, or fewer "
        "stages",
        config.pipeline, per_replica, ranks, per_replica);
  if (ranks % per_replica != 0)
    throw UserError(
        "{} ranks cannot form replicas of {} ranks each (parallel.pipeline = {}); use --ranks {} "
        "or --ranks {}",
        ranks, per_replica, config.pipeline, ranks / per_replica * per_replica,
        (ranks / per_replica + 1) * per_replica);
  return {.data = ranks / static_cast<int>(per_replica),
          .pipeline = static_cast<int>(config.pipeline)};
}

MeshPosition position_of(const Mesh& mesh, int rank) {
  return {.data = rank / mesh.pipeline, .stage = rank % mesh.pipeline};
}

std::string to_text(const Mesh& mesh) {
  return fmt::format("data={}, pipeline={}", mesh.data, mesh.pipeline);
}

void set_mesh(ParallelConfig& config, const std::string& text) {
  std::map<std::string, int64_t> sizes = parse(text);
  const bool names_data = sizes.contains("data");
  const int64_t data = names_data ? sizes["data"] : 1;
  config.pipeline = sizes.contains("pipeline") ? sizes["pipeline"] : 1;
  const int64_t product = data * config.pipeline;
  if (config.ranks == 1 && product > 1) config.ranks = product;
  if (names_data && product != config.ranks)
    throw UserError(
        "--mesh {} is a mesh of {} ranks, but there are {}; use --ranks {}, or another "
        "mesh",
        text, product, config.ranks, product);
}

MeshGroups::MeshGroups(const Mesh& mesh, Communicator& ranks) : all_(&ranks) {
  if (mesh.per_replica() == 1) {
    pipeline_ = make_self_communicator();
    return;
  }
  const MeshPosition at = position_of(mesh, ranks.rank());
  data_ = ranks.split(at.stage, at.data);
  pipeline_ = ranks.split(at.data, at.stage);
}

}  // namespace lockstep
