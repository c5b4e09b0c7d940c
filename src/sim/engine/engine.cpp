#include <sys/prctl.h>

#include "base/error.h"
#include "os/library.h"
#include "sim/engine/engine.h"

namespace lockstep {

void run_on_simgrid(const SimulatedJob& job, const SimulatedMain& rank_main) {
  const SimgridLibrary* library = nullptr;
  try {
    library = load_library<SimgridLibrary>("lockstep_simgrid.so", "lockstep_simgrid_library");
  } catch (const Failure& failure) {
    throw UserError(
        "this lockstep has no SimGrid: install it (apt install libsimgrid-dev) and build again, or "
        "use --engine analytic ({})",
        failure.what());
  }
  // Ranks that compute nothing touch only a little of their memory: huge pages would waste it.
  if (!job.moves_data) ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  library->run(job, rank_main);
}

}  // namespace lockstep
