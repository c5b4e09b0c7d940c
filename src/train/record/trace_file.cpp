#include "train/record/trace_file.h"

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

constexpr int clock_tag = 77;

// Seconds that this rank's clock is ahead of rank 0's, from the fastest of a few round trips.
double clock_offset(Communicator& ranks, const Clock& clock) {
  double offset = 0;
  for (int r = 1; r < ranks.size(); ++r) {
    double fastest = 1e9;
    for (int round = 0; round < 8; ++round) {
      double there = 0;
      if (ranks.rank() == 0) {
        ranks.receive(std::as_writable_bytes(std::span(&there, 1)), r, clock_tag).wait();
        const double now = clock.seconds();
        ranks.send(std::as_bytes(std::span(&now, 1)), r, clock_tag).wait();
      } else if (ranks.rank() == r) {
        const double asked = clock.seconds();
        ranks.send(std::as_bytes(std::span(&asked, 1)), 0, clock_tag).wait();
        ranks.receive(std::as_writable_bytes(std::span(&there, 1)), 0, clock_tag).wait();
        const double answered = clock.seconds();
        if (answered - asked < fastest) {
          fastest = answered - asked;
          offset = (asked + answered) / 2 - there;
        }
      }
    }
  }
  return offset;
}

}  // namespace

std::string trace_lane(int rank, const std::string& host, const Trace& trace, double zero) {
  std::string lane =
      nlohmann::ordered_json{{"name", "thread_name"},
                             {"ph", "M"},
                             {"pid", 0},
                             {"tid", rank},
                             {"args", {{"name", fmt::format("rank {} on {}", rank, host)}}}}
          .dump();
  for (const Trace::Event& e : trace.events())
    lane += fmt::format(
        ",\n{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":0,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}}}",
        e.name, rank, (e.start - zero) * 1e6, (e.end - e.start) * 1e6);
  return lane;
}

void write_lanes(const fs::path& path, const std::vector<std::string>& lanes) {
  write_file(path, fmt::format("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n",
                               fmt::join(lanes, ",\n")));
}

void write_trace(const fs::path& path, const Trace& trace, Communicator& ranks,
                 const Clock& clock) {
  const double offset = clock_offset(ranks, clock);
  double first = trace.events().empty() ? 1e300 : trace.events()[0].start - offset;
  for (const double other : gather_all(ranks, first)) first = std::min(first, other);
  const std::vector<std::string> lanes =
      gather_texts(ranks, trace_lane(ranks.rank(), ranks.host(), trace, first + offset));
  if (ranks.rank() == 0) write_lanes(path, lanes);
}

}  // namespace lockstep
