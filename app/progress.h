#pragma once

#include <string>

#include "base/clock.h"
#include "train/observer.h"

namespace lockstep {

// Shows the progress of a run on stderr: a bar per epoch on a terminal, otherwise a plain line
// every few seconds.
class Progress final : public Observer {
 public:
  Progress(const Clock& clock, bool quiet);

  void run_started(const RunStart& start) override;
  void step_done(const StepReport& report) override;
  void epoch_done(const EpochReport& report) override;

 private:
  std::string figures(const StepReport& report, double now) const;

  const Clock& clock_;
  bool quiet_, terminal_;
  RunStart start_;
  double began_ = 0, epoch_began_ = 0, last_shown_ = 0;
};

// The closing table of a run, for stdout.
std::string summary_table(const Summary& summary, const std::string& folder);

}  // namespace lockstep
