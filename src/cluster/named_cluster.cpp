#include "cluster/named_cluster.h"

#include "base/error.h"
#include "base/nearest.h"
#include "cluster/emulated_cluster.h"

namespace lockstep {

NamedCluster named_cluster(const std::string& name_or_path) {
  std::vector<std::string> names = {this_machine_cluster};
  std::string text;
  for (const ShippedCluster& cluster : shipped_clusters()) {
    names.push_back(cluster.name);
    if (cluster.name == name_or_path) text = cluster.text;
  }
  if (text.empty())
    for (const EmulatedCluster& cluster : emulated_clusters()) {
      names.push_back(cluster.name);
      if (cluster.name == name_or_path) text = read_text(cluster.description());
    }
  if (text.empty() && fs::is_regular_file(name_or_path)) text = read_text(name_or_path);
  if (text.empty() && name_or_path.find_first_of("./") != std::string::npos)
    throw UserError("cannot read the cluster {}: no such file, or it is empty", name_or_path);
  if (text.empty())
    throw UserError("'{}' is neither a cluster that comes with lockstep nor a file; {}",
                    name_or_path, suggestion(name_or_path, names));
  Cluster cluster = parse_cluster(text, name_or_path);
  if (cluster.name.empty()) cluster.name = fs::path(name_or_path).stem().string();
  return {std::move(cluster), std::move(text)};
}

}  // namespace lockstep
