#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "base/names.h"
#include "base/with_commas.h"
#include "text.h"

namespace lockstep {
namespace {

constexpr double bar_interval = 0.1, line_interval = 5;

bool no_color() {
  const char* value = std::getenv("NO_COLOR");
  return value && *value;
}

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  // Ranks started by mpiexec write to a pipe; the launcher passes the terminal's width.
  const char* columns = std::getenv("LOCKSTEP_TERMINAL");
  const int said = columns ? std::atoi(columns) : 0;
  return said > 1 ? said : 80;
}

std::string bar(double share, int width) {
  if (width < 4) return "";
  const int full = static_cast<int>(std::lround(share * width));
  std::string text = no_color() ? "" : "\033[36m";
  for (int i = 0; i < width; ++i) {
    if (i == full && !no_color()) text += "\033[2m";
    text += i < full ? "━" : "─";
  }
  return text + (no_color() ? "" : "\033[0m");
}

}  // namespace

// Ranks started by mpiexec write to a pipe; the launcher says if it ends at a terminal.
Progress::Progress(const Clock& clock, bool quiet)
    : clock_(clock),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1 || std::getenv("LOCKSTEP_TERMINAL")) {}

void Progress::run_started(const RunStart& start) {
  start_ = start;
  began_ = epoch_began_ = last_shown_ = clock_.seconds();
  if (quiet_) return;
  fmt::print(stderr, "{}: {} parameters on {}, {} training samples\n{}\n", printable(start.name),
             with_commas(start.parameters), printable(start.data), with_commas(start.samples),
             start.device);
  if (start.ranks > 1)
    fmt::print(stderr, "{} ranks, {}, strategy {}\n", start.ranks, start.backend, start.strategy);
  if (start.steps_done > 0)
    fmt::print(stderr, "resumed after step {}\n", with_commas(start.steps_done));
}

std::string Progress::figures(const StepReport& r, double now) const {
  const double done = static_cast<double>(r.global_step);
  const double all = static_cast<double>(start_.epochs * start_.steps_per_epoch);
  const double left =
      (now - began_) / (done - static_cast<double>(start_.steps_done)) * (all - done);
  return fmt::format("loss {:.4f}  accuracy {:>6}  ETA {}", r.epoch_loss, percent(r.epoch_accuracy),
                     short_time(left));
}

void Progress::step_done(const StepReport& r) {
  if (quiet_) return;
  const double now = clock_.seconds();
  if (now - last_shown_ < (terminal_ ? bar_interval : line_interval)) return;
  last_shown_ = now;
  if (terminal_) {
    const std::string epoch = fmt::format("epoch {}/{} ", r.epoch, start_.epochs);
    const std::string rest =
        fmt::format(" {:>{}}/{}  {}", r.step, std::to_string(start_.steps_per_epoch).size(),
                    start_.steps_per_epoch, figures(r, now));
    // A wrapped line cannot be overwritten, so the bar gets the columns that are left.
    const int left = terminal_columns() - 1 - static_cast<int>(epoch.size() + rest.size());
    const double done = static_cast<double>(r.step) / static_cast<double>(start_.steps_per_epoch);
    fmt::print(stderr, "\r\033[K{}{}{}", epoch, bar(done, std::min(24, left)),
               rest.substr(0, static_cast<size_t>(
                                  std::max(0, static_cast<int>(rest.size()) + std::min(0, left)))));
  } else {
    fmt::print(stderr, "epoch {}/{} step {}/{}  {}\n", r.epoch, start_.epochs, r.step,
               start_.steps_per_epoch, figures(r, now));
  }
  std::fflush(stderr);
}

void Progress::epoch_done(const EpochReport& r) {
  if (quiet_) return;
  // With many short epochs, print at most one line per second.
  const double now = clock_.seconds();
  const bool last = r.epoch == start_.epochs;
  if (start_.epochs > 30 && !last && now - epoch_began_ < 1) return;
  epoch_began_ = now;
  std::string validation;
  if (r.validation)
    validation =
        fmt::format("  validation {:.4f} {}", r.validation->loss, percent(r.validation->accuracy));
  fmt::print(stderr, "{}epoch {}/{}  {}  loss {:.4f}  accuracy {:>6}{}  {} samples/s\n",
             terminal_ ? "\r\033[K" : "", r.epoch, start_.epochs, short_time(r.seconds), r.loss,
             percent(r.accuracy), validation, with_commas(std::llround(r.samples_per_second)));
}

std::string summary_table(const Summary& s, const std::string& folder) {
  std::string ending = to_text(s.ending);
  if (s.loss_rose())
    ending += fmt::format(", but the loss rose from {:.4g} to {:.4g}: nothing was learnt",
                          s.first_loss, s.train_loss);
  std::vector<std::vector<std::string>> rows = {{printable(s.name), ending}};
  const auto add = [&](const char* what, const std::string& value) {
    rows.push_back({what, value});
  };
  add("data", printable(s.data));
  add("parameters", with_commas(s.parameters));
  add("epochs", fmt::format("{:.4g}", s.epochs));
  add("train loss / accuracy", fmt::format("{:.4f} / {}", s.train_loss, percent(s.train_accuracy)));
  if (s.validation)
    add("validation loss / accuracy",
        fmt::format("{:.4f} / {}", s.validation->loss, percent(s.validation->accuracy)));
  if (s.target)
    add("until",
        fmt::format("{}{}: {}", s.target->target,
                    s.target->on_test ? " on the test part, which chose the end of training" : "",
                    s.target->reached ? fmt::format("after {} and {:.4g} epochs",
                                                    short_time(s.target->seconds), s.target->epochs)
                                      : "not reached"));
  if (s.best_epoch > 0) add("weights kept from epoch", std::to_string(s.best_epoch));
  if (s.test)
    add("test loss / accuracy",
        fmt::format("{:.4f} / {}", s.test->loss, percent(s.test->accuracy)));
  for (const NamedFigure& figure : s.figures)
    add(figure.name.c_str(), fmt::format("{:.4f}", figure.value));
  add("read", short_time(s.read_seconds));
  add("gradients of a batch", fmt::format("{:.3g} ms (median)", s.gradient_seconds * 1e3));
  add("throughput", with_commas(std::llround(s.samples_per_second)) + " samples/s");
  add("total", short_time(s.total_seconds));
  add("peak memory", fmt::format("{:.0f} MB", static_cast<double>(s.peak_memory_bytes) / 1e6));
  if (!folder.empty()) add("saved in", folder);
  std::string text;
  if (s.parallel) {
    const ParallelFigures& p = *s.parallel;
    add("ranks", fmt::format("{} ({}, {}{}{})", p.ranks, p.backend, p.strategy,
                             p.oversubscribed ? ", oversubscribed" : "",
                             p.emulated_hosts ? ", emulated hosts" : ""));
    add("batch per rank / global",
        fmt::format("{} / {}", (p.global_batch + p.training - 1) / p.training, p.global_batch));
    add("learning rate", fmt::format("{:.4g}", s.learning_rate));
    add("time of ranks",
        fmt::format("computing {}, communication {} (and {} hidden), waiting {}, "
                    "loading {}",
                    percent(p.computing_share), percent(p.exposed_share), percent(p.hidden_share),
                    percent(p.waiting_share), percent(p.loading_share)));
    if (p.baseline)
      add("speed-up / efficiency",
          fmt::format("{:.2f} / {} over {}", p.speed_up, percent(p.efficiency), p.baseline->run));
    for (const NamedFigure& figure : p.own)
      add(figure.name.c_str(), fmt::format("{:.3g}", figure.value));
    add("bound by", p.bound);
    if (!p.diagnosis.empty()) text = p.diagnosis + "\n";
  }
  return table(rows) + text;
}

}  // namespace lockstep
