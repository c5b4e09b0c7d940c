// Reports: one page without a network, hostile names included, quick for many runs.

#include "study/report_file.h"

#include <chrono>

#include "base/error.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

class Reports : public InFolder {
 protected:
  fs::path run(const std::string& name, const std::string& data = "d") {
    write(name + "/summary.json", "{\"name\": \"n\", \"data\": \"" + data +
                                      "\", \"total_seconds\": 1, \"test_accuracy\": 0.5}");
    std::string lines;
    for (int step = 1; step <= 50; ++step)
      lines += fmt::format("{{\"train/global_step\":{},\"train/loss\":{}}}\n", step, 1.0 / step);
    write(name + "/metrics.jsonl", lines + "{\"train/global_st");
    write(name + "/config.toml", "seed = 1\n");
    return folder() / name;
  }
  std::string page() const { return read_text(folder() / "report.html"); }
};

TEST_F(Reports, AreOnePageThatAsksNobody) {
  write_report({run("a"), run("b")}, folder() / "report.html", "Two <runs>");
  expect_says(page(), {"Two &lt;runs>", "\"curves\"", "\"loss\"", "seed = 1"});
  for (const char* outside : {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(page().find(outside), std::string::npos) << outside;
}

TEST_F(Reports, CannotBeBrokenByNames) {
  write_report({run("</script><b>", "</script><script>alert(1)</script>")},
               folder() / "report.html", "t");
  EXPECT_EQ(page().find("</script><script>alert"), std::string::npos);
}

TEST_F(Reports, SkipWhatIsDamagedAndNameIt) {
  write("broken/summary.json", "{");
  const auto skipped = write_report({run("a"), folder() / "broken", folder() / "none"},
                                    folder() / "report.html", "t");
  ASSERT_EQ(skipped.size(), 2u);
  expect_says(skipped[0], {"broken", "damaged"});
  expect_says(skipped[1], {"none", "no summary.json"});
  expect_says(page(), {"damaged"});
  expect_says(
      error_of<UserError>([&] { write_report({folder() / "none"}, folder() / "r.html", "t"); }),
      {"nothing to report"});
}

TEST_F(Reports, AreTablesAndFiguresByTheFilesEnding) {
  const std::vector<fs::path> runs = {run("a"), run("b")};
  for (const char* file : {"r.md", "r.csv", "r.tex", "r.svg", "r.png"})
    write_report(runs, folder() / file, "Two runs");
  expect_says(read_text(folder() / "r.md"), {"| a |", "50%", "measured"});
  expect_says(read_text(folder() / "r.csv"), {"run,ranks", "b,1"});
  expect_says(read_text(folder() / "r.tex"), {"\\toprule", "50\\%"});
  expect_says(read_text(folder() / "r.svg"), {"<svg"});
  EXPECT_GT(fs::file_size(folder() / "r.png"), 1000u);
}

TEST_F(Reports, OfAThousandRunsAreMadeInTwoSeconds) {
  std::vector<fs::path> runs;
  for (int i = 0; i < 1000; ++i) runs.push_back(run("run" + std::to_string(i)));
  const auto start = std::chrono::steady_clock::now();
  write_report(runs, folder() / "report.html", "many");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_LT(page().size(), 20'000'000u);
}

}  // namespace
}  // namespace lockstep
