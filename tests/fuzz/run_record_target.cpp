#include "report/run_record.h"

#include "fuzz_target.h"
#include "study/output/report_file.h"

namespace lockstep {
namespace {

const std::vector<std::string> names = {"summary.json", "metrics.jsonl", "trace.json",
                                        "config.toml"};

// The files of a run folder, as `lockstep report` reads them.
void read(const std::string& input) {
  const std::vector<std::string> files = files_of(input, names.size());
  for (size_t i = 0; i < names.size(); ++i) scratch_file("run/" + names[i], files[i]);
  const fs::path folder = scratch_folder() / "run";
  for (const char* ending : {"html", "md", "csv", "tex"})
    write_report({folder}, scratch_folder() / (std::string("report.") + ending), "title");
  read_run_record(folder);
}

std::vector<std::string> seeds() {
  std::string metrics, trace = "{\"traceEvents\":[";
  for (int step = 1; step <= 6; ++step) {
    metrics += "{\"train/global_step\":" + std::to_string(step) + ",\"train/loss\":0.5}\n";
    trace += "{\"ph\":\"X\",\"tid\":0,\"name\":\"update\",\"ts\":" + std::to_string(1000 * step) +
             ",\"dur\":10},";
  }
  metrics +=
      "{\"train/global_step\":6,\"train/epoch\":1,\"train/epoch_loss\":0.4,\"train/accuracy\":0.9,"
      "\"train/epoch_seconds\":0.1,\"eval/loss\":0.3}\n";
  trace.back() = ']';
  return {
      joined({"{\"name\":\"iris\",\"ending\":\"finished\",\"data\":\"iris (shipped, 150)\","
              "\"train_loss\":0.4,\"total_seconds\":1.5,\"epoch_seconds\":[0.1,0.2],"
              "\"test\":{\"accuracy\":0.9,\"loss\":0.3},\"parallel\":{\"ranks\":2,"
              "\"oversubscribed\":true},"
              "\"simulated\":false}",
              metrics, trace + "}", "name = \"iris\"\n"})};
}

}  // namespace

FuzzTarget run_record_target() { return {"run-record", read, seeds}; }

}  // namespace lockstep
