#include "bench_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "base/undisturbed.h"
#include "job/ranks.h"
#include "text.h"
#include "train/diagnosis.h"
#include "train/shares.h"
#include "train/step_probe.h"

namespace lockstep {

void bench_rank(const RunConfig& config, const HeldBatches& held, double seconds, bool json,
                Communicator& ranks) {
  const WallClock clock;
  const std::string map = bind_rank(config, ranks);
  const std::unique_ptr<Device> device = make_device(config.device);
  const int training = training_ranks(config.parallel, ranks.size());
  const int64_t all = rows_per_step(config, held.samples, training);
  StepProbe probe(config, held, all, ranks, *device, clock);
  probe.initialise();

  probe.run(5);
  double step = probe.step_seconds().empty() ? 0 : probe.step_seconds().back();
  for (const double other : gather_all(ranks, step)) step = std::max(step, other);
  const int64_t count = std::max<int64_t>(10, static_cast<int64_t>(seconds / std::max(step, 1e-6)));
  ranks.barrier().wait();
  probe.run(count);

  const std::vector<RankTimes> times = gather_times(ranks, probe.times(), config.device.threads);
  if (ranks.rank() != 0) return;

  const ParallelFigures f = summarise(times, training, count, bytes_a_step(probe.parameters()),
                                      probe.share().all, config.parallel.strategy);
  const std::vector<double>& steps = probe.step_seconds();
  const double typical = median(steps), best = *std::ranges::min_element(steps);
  const int64_t batches_per_step = probe.traits().one_update_per_epoch ? count : 1;
  const double samples = static_cast<double>(all * batches_per_step);
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"name", config.name},
                                              {"data", held.provenance},
                                              {"device", device->description()},
                                              {"ranks", ranks.size()},
                                              {"backend", ranks.backend()},
                                              {"strategy", config.parallel.strategy},
                                              {"oversubscribed", f.oversubscribed},
                                              {"batch_per_rank", (all + training - 1) / training},
                                              {"global_batch", all},
                                              {"steps", steps.size()},
                                              {"samples_per_second", samples / typical},
                                              {"best_samples_per_second", samples / best},
                                              {"step_ms", typical * 1e3},
                                              {"undisturbed_step_ms", undisturbed(steps) * 1e3},
                                              {"best_step_ms", best * 1e3},
                                              {"computing_share", f.computing_share},
                                              {"hidden_communication_share", f.hidden_share},
                                              {"exposed_communication_share", f.exposed_share},
                                              {"waiting_share", f.waiting_share},
                                              {"diagnosis", f.diagnosis}}
                           .dump(2));
    return;
  }
  fmt::print("{}{}, batch {} per rank, {} global, {}, {}\n{} ranks, {}, strategy {}{}\n", map,
             config.name, (all + training - 1) / training, all, device->description(),
             held.provenance, ranks.size(), ranks.backend(), config.parallel.strategy,
             f.oversubscribed ? ", oversubscribed" : "");
  fmt::print("{} samples/s (median of {} steps, {:.4g} ms each; undisturbed {:.4g} ms; best {})\n",
             with_commas(static_cast<int64_t>(samples / typical)), steps.size(), typical * 1e3,
             undisturbed(steps) * 1e3, with_commas(static_cast<int64_t>(samples / best)));
  fmt::print("computing {}, communication {} (and {} hidden), waiting {}\n",
             percent(f.computing_share), percent(f.exposed_share), percent(f.hidden_share),
             percent(f.waiting_share));
  if (!f.diagnosis.empty()) fmt::print("{}\n", f.diagnosis);
}

}  // namespace lockstep
