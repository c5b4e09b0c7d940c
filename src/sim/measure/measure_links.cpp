#include "sim/measure/measure_links.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/statistics.h"
#include "os/affinity.h"
#include "os/machine/identifier.h"
#include "tensor/peak.h"

namespace lockstep {
namespace {

constexpr int link_tag = 7;

// Between two hosts.
struct LinkFigures {
  double latency = 0;       // seconds, program to program
  double bandwidth = 0;     // bytes per second, one direction
  double both_ways = 0;     // bytes per second of both directions together
  double cpu_per_byte = 0;  // core seconds to receive
};

struct HostFigures {
  int64_t cores = 0;
  double memory = 0;  // bytes
  double flops = 0;   // of one core
};

// One end of a link. Both ends call the same functions.
class LinkEnd {
 public:
  LinkEnd(Communicator& ranks, int peer, bool first)
      : ranks_(ranks), peer_(peer), first_(first), out_(1 << 20), in_(1 << 20) {}

  LinkFigures measure() {
    LinkFigures figures;
    std::vector<double> trips;
    for (int i = 0; i < 200; ++i) trips.push_back(round_trip(64));
    figures.latency = median(trips) / 2;
    // Long enough that latencies and bursts do not matter.
    const double megabyte = round_trip(1 << 20) / 2;
    const size_t bytes =
        std::clamp<size_t>(static_cast<size_t>(0.5 / std::max(megabyte, 1e-6)) << 20,
                           size_t{1} << 20, size_t{1} << 28);
    std::vector<double> one, both, cpu;
    for (int i = 0; i < 5; ++i) {
      one.push_back(one_way(bytes));
      both.push_back(exchange(bytes));
    }
    figures.bandwidth = static_cast<double>(bytes) / median(one);
    figures.both_ways = 2 * static_cast<double>(bytes) / median(both);
    for (int i = 0; i < 9; ++i) cpu.push_back(receive_late(figures.bandwidth));
    figures.cpu_per_byte = *std::ranges::min_element(cpu);  // others use the core too
    return figures;
  }

 private:
  void send(size_t bytes) {
    for (size_t sent = 0; sent < bytes; sent += out_.size())
      ranks_.send(std::span(out_).first(std::min(out_.size(), bytes - sent)), peer_, link_tag)
          .wait();
  }
  void receive(size_t bytes) {
    for (size_t got = 0; got < bytes; got += in_.size())
      ranks_.receive(std::span(in_).first(std::min(in_.size(), bytes - got)), peer_, link_tag)
          .wait();
  }
  void meet() { round_trip(64); }

  double round_trip(size_t bytes) {
    const double start = clock_.seconds();
    if (first_) send(bytes);
    receive(bytes);
    if (!first_) send(bytes);
    return clock_.seconds() - start;
  }
  // Until the other end has all, which it confirms.
  double one_way(size_t bytes) {
    meet();
    const double start = clock_.seconds();
    first_ ? send(bytes) : receive(bytes);
    first_ ? receive(64) : send(64);
    return clock_.seconds() - start;
  }
  double exchange(size_t bytes) {
    meet();
    const double start = clock_.seconds();
    // Several messages in flight, so that neither direction waits for the other.
    constexpr size_t in_flight = 4;
    std::deque<Request> arriving, leaving;
    for (size_t done = 0; done < bytes; done += out_.size()) {
      arriving.push_back(ranks_.receive(in_, peer_, link_tag));
      leaving.push_back(ranks_.send(out_, peer_, link_tag));
      if (arriving.size() < in_flight) continue;
      arriving.front().wait();
      leaving.front().wait();
      arriving.pop_front();
      leaving.pop_front();
    }
    for (std::deque<Request>* requests : {&arriving, &leaving})
      for (Request& request : *requests) request.wait();
    return clock_.seconds() - start;
  }
  // Seconds per byte to receive a message that the kernel has already got.
  double receive_late(double bandwidth) {
    constexpr size_t bytes = 64 * 1024;
    meet();
    if (first_) {
      send(bytes);
      return 0;
    }
    const double transfer = static_cast<double>(bytes) / bandwidth;
    std::this_thread::sleep_for(std::chrono::duration<double>(transfer * 1.2 + 0.005));
    const double start = clock_.seconds();
    receive(bytes);
    return (clock_.seconds() - start) / static_cast<double>(bytes);
  }

  Communicator& ranks_;
  int peer_;
  bool first_;
  WallClock clock_;
  std::vector<std::byte> out_, in_;
};

HostFigures host_figures(const Clock& clock) {
  return {.cores = static_cast<int64_t>(allowed_cores().size()),
          .memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<double>(::sysconf(_SC_PAGE_SIZE)),
          .flops = sgemm_peak(1, clock)};
}

double gbit(double bytes_per_second) { return bytes_per_second * 8 / 1e9; }

std::string file_of(const std::string& name, const std::vector<std::string>& names,
                    const std::vector<HostFigures>& hosts, const std::vector<LinkFigures>& links) {
  std::vector<double> latencies, cpus;
  double fastest = 0, most_both_ways = 0;
  std::string measured;
  for (size_t r = 1; r < hosts.size(); ++r) {
    const LinkFigures& link = links[r];
    latencies.push_back(link.latency);
    cpus.push_back(link.cpu_per_byte);
    fastest = std::max(fastest, link.bandwidth);
    most_both_ways = std::max(most_both_ways, link.both_ways / link.bandwidth);
    measured += fmt::format(
        "# {} to {}: {:.4g} Gbit/s, {:.4g} Gbit/s in both directions together, {:.3g} us\n",
        names[0], names[r], gbit(link.bandwidth), gbit(link.both_ways), link.latency * 1e6);
  }
  std::string text = fmt::format(
      "# Measured by 'lockstep calibrate' between hosts. Bandwidths are of payload. The link of a "
      "host\n# is the slower of its own and that of {}.\n{}name = \"{}\"\nabout = \"{} hosts, links "
      "measured\"\n",
      names[0], measured, name, hosts.size());
  for (size_t r = 0; r < hosts.size(); ++r) {
    text += fmt::format(
        "[[node]]  # {}\ncount = 1\ncores = {}\nspeed = {:.3f}\nmemory_gb = {:.1f}\n", names[r],
        hosts[r].cores, hosts[r].flops / hosts[0].flops, hosts[r].memory / (1 << 30));
    if (r > 0 && links[r].bandwidth < 0.95 * fastest)
      text += fmt::format("bandwidth_gbit = {:.5g}\n", gbit(links[r].bandwidth));
  }
  constexpr double half_duplex = 1.4;  // both directions together, relative to one
  return text + fmt::format(
                    "[network]\nbandwidth_gbit = {:.5g}\nlatency_us = {:.3g}\nefficiency = 1.0\n"
                    "duplex = \"{}\"\ncpu_us_per_mb = {:.3g}\n",
                    gbit(fastest), median(latencies) * 1e6,
                    most_both_ways < half_duplex ? "half" : "full", median(cpus) * 1e12);
}

}  // namespace

std::string measure_links(Communicator& ranks, const std::string& name) {
  const WallClock clock;
  HostFigures mine;
  std::vector<LinkFigures> links(1);
  for (int other = 0; other < ranks.size(); ++other) {  // in turn: hosts may share cores
    if (other == ranks.rank()) mine = host_figures(clock);
    ranks.barrier().wait();
  }
  for (int other = 1; other < ranks.size(); ++other) {
    LinkFigures link;
    if (ranks.rank() == 0) link = LinkEnd(ranks, other, true).measure();
    if (ranks.rank() == other) link = LinkEnd(ranks, 0, false).measure();
    const std::vector<LinkFigures> all = gather_all(ranks, link);
    links.push_back(all[0]);
    links.back().cpu_per_byte = all[static_cast<size_t>(other)].cpu_per_byte;
  }
  std::vector<HostFigures> hosts = gather_all(ranks, mine);
  const std::vector<std::string> names = gather_texts(ranks, ranks.host()),
                                 machines = gather_texts(ranks, machine_identifier());
  // Hosts that are parts of one machine are equally fast.
  std::map<std::string, double> fastest;
  for (size_t r = 0; r < hosts.size(); ++r)
    fastest[machines[r]] = std::max(fastest[machines[r]], hosts[r].flops);
  for (size_t r = 0; r < hosts.size(); ++r) hosts[r].flops = fastest[machines[r]];
  return ranks.rank() == 0 ? file_of(name, names, hosts, links) : "";
}

}  // namespace lockstep
