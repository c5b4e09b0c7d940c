#include "train/trace_file.h"

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

constexpr int clock_tag = 77;

// How far this rank's clock is ahead of rank 0's: by the quickest of a few questions.
double clock_offset(Communicator& ranks, const Clock& clock) {
  double offset = 0;
  for (int r = 1; r < ranks.size(); ++r) {
    double quickest = 1e9;
    for (int round = 0; round < 8; ++round) {
      double there = 0;
      if (ranks.rank() == 0) {
        ranks.receive(bytes_of(std::span(&there, 1)), r, clock_tag).wait();
        const double now = clock.seconds();
        ranks.send(std::as_bytes(std::span(&now, 1)), r, clock_tag).wait();
      } else if (ranks.rank() == r) {
        const double asked = clock.seconds();
        ranks.send(std::as_bytes(std::span(&asked, 1)), 0, clock_tag).wait();
        ranks.receive(bytes_of(std::span(&there, 1)), 0, clock_tag).wait();
        const double answered = clock.seconds();
        if (answered - asked < quickest) {
          quickest = answered - asked;
          offset = (asked + answered) / 2 - there;
        }
      }
    }
  }
  return offset;
}

}  // namespace

void write_trace(const fs::path& path, const Trace& trace, Communicator& ranks,
                 const Clock& clock) {
  const double offset = clock_offset(ranks, clock);
  double first = trace.events().empty() ? 1e300 : trace.events()[0].start - offset;
  for (const double other : gather_all(ranks, first)) first = std::min(first, other);

  std::string mine =
      nlohmann::ordered_json{
          {"name", "thread_name"},
          {"ph", "M"},
          {"pid", 0},
          {"tid", ranks.rank()},
          {"args", {{"name", fmt::format("rank {} on {}", ranks.rank(), ranks.host())}}}}
          .dump();
  for (const Trace::Event& e : trace.events())
    mine += fmt::format(
        ",\n{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":0,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}}}",
        e.name, ranks.rank(), (e.start - offset - first) * 1e6, (e.end - e.start) * 1e6);
  std::string all;
  for (const std::string& text : gather_texts(ranks, mine))
    all += (all.empty() ? "" : ",\n") + text;
  if (ranks.rank() == 0)
    write_file(path, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + all + "\n]}\n");
}

}  // namespace lockstep
