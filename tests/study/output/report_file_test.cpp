// Reports: measured and simulated runs are labelled in every format; hostile names and damaged runs
// do no harm; many runs take little time.

#include "study/output/report_file.h"

#include <sys/stat.h>

#include <chrono>

#include "base/error.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

class Reports : public InFolder {
 protected:
  // `more`: further keys of summary.json, with a leading comma.
  fs::path run(const std::string& name, const std::string& data = "d",
               const std::string& more = "") {
    write(name + "/summary.json", "{\"name\": \"n\", \"data\": \"" + data +
                                      "\", \"total_seconds\": 1, \"test_accuracy\": 0.5" + more +
                                      "}");
    std::string lines;
    for (int step = 1; step <= 50; ++step)
      lines += fmt::format("{{\"train/global_step\":{},\"train/loss\":{}}}\n", step, 1.0 / step);
    write(name + "/metrics.jsonl", lines + "{\"train/global_st");
    write(
        name + "/config.toml",
        "seed = 1\n[train]\nbatch = 32\n[optimizer]\nlr = 0.001\n[parallel]\nbatch = \"global\"\n");
    return folder() / name;
  }
  // Copies: faster than write(), which syncs each file.
  std::vector<fs::path> copies(int count) {
    const fs::path first = run("first");
    std::vector<fs::path> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(folder() / ("run é " + std::to_string(i)));
      fs::copy(first, all.back(), fs::copy_options::recursive);
    }
    return all;
  }
  fs::path simulated(const std::string& name, const std::string& more = "") {
    return run(name, "d", ", \"simulated\": true" + more);
  }
  std::string report(const std::vector<fs::path>& runs, const std::string& file) {
    skipped_ = write_report(runs, folder() / file, "A title");
    return read_text(folder() / file);
  }
  std::string refused(const std::string& file) {
    return error_of<UserError>([&] { write_report({run("a")}, folder() / file, "t"); });
  }
  static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  std::string page() const { return read_text(folder() / "report.html"); }

  std::vector<std::string> skipped_;
};

TEST_F(Reports, AreOnePageThatLoadsNothing) {
  write_report({run("a"), run("b")}, folder() / "report.html", "Two <runs>");
  expect_says(page(), {"Two &lt;runs>", "\"charts\"", "Training loss", "seed = 1"});
  for (const char* outside : {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(page().find(outside), std::string::npos) << outside;
}

TEST_F(Reports, CannotBeBrokenByNames) {
  write_report({run("</script><b>", "</script><script>alert(1)</script>")},
               folder() / "report.html", "t");
  EXPECT_EQ(page().find("</script><script>alert"), std::string::npos);
}

TEST_F(Reports, ShowEscapeSequencesInNamesInsteadOfWritingThem) {
  const fs::path hostile = run("a\x1b[2J");
  for (const char* file : {"r.md", "r.csv", "r.tex"}) {
    const std::string text = report({hostile}, file);
    EXPECT_FALSE(says(text, "\x1b")) << file;
    EXPECT_TRUE(says(text, "x1b[2J")) << file;
  }
}

TEST_F(Reports, SkipDamagedRunsAndNameThem) {
  write("broken/summary.json", "{");
  const auto skipped = write_report({run("a"), folder() / "broken", folder() / "none"},
                                    folder() / "report.html", "t");
  ASSERT_EQ(skipped.size(), 2u);
  expect_says(skipped[0], {"broken", "damaged"});
  expect_says(skipped[1], {"none", "does not exist"});
  expect_says(page(), {"damaged"});
  expect_says(
      error_of<UserError>([&] { write_report({folder() / "none"}, folder() / "r.html", "t"); }),
      {"nothing to report"});
}

TEST_F(Reports, SkipRunsWithWrongTypesAndSayWhichKey) {
  const std::vector<std::pair<std::string, std::string>> damages = {
      {R"({"parallel": 5})", "parallel is 5; an object was expected"},
      {R"({"parallel": {"ranks": "two"}})", "parallel.ranks is \"two\"; a number was expected"},
      {R"({"parallel": {"ranks": -3}})", "a whole number from 1 on"},
      {R"({"parallel": {"oversubscribed": 1}})", "parallel.oversubscribed is 1"},
      {R"({"simulated": "yes"})", "simulated is \"yes\"; true or false was expected"},
      {R"({"data": ["x"]})", "data is [\"x\"]; text was expected"},
      {R"({"test_accuracy": "high"})", "test_accuracy"},
      {R"({"epochs": {}})", "epochs"},
      {R"([1])", "not a JSON object"},
      {"", "not a JSON object"},
      {"{\"a\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}", "nested more"},
  };
  for (const auto& [summary, reason] : damages) {
    write("bad/summary.json", summary);
    const std::string table = report({folder() / "bad", run("good")}, "r.md");
    ASSERT_EQ(skipped_.size(), 1u) << reason;
    expect_says(skipped_[0], {"bad", reason});
    expect_says(table, {"| good |", "Left out: "});
  }
  write("bad/summary.json", "{}");
  write("bad/config.toml", "[train]\nbatch = [1");
  report({folder() / "bad", run("good")}, "r.html");
  ASSERT_EQ(skipped_.size(), 1u);
  expect_says(skipped_[0], {"bad/config.toml", "line 2"});
}

TEST_F(Reports, DoNotReadPipesAndDevices) {
  make_folder(folder() / "pipe");
  ASSERT_EQ(::mkfifo((folder() / "pipe/summary.json").c_str(), 0600), 0);
  make_folder(folder() / "endless");
  fs::create_symlink("/dev/zero", folder() / "endless/summary.json");
  report({folder() / "pipe", folder() / "endless", run("good")}, "r.md");
  ASSERT_EQ(skipped_.size(), 2u);
  for (const std::string& reason : skipped_) expect_says(reason, {"has no summary.json"});
}

TEST_F(Reports, SkipUnreadableMetricsAndTraces) {
  const fs::path one = run("a");
  const std::string deep = "{\"x\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  write("a/metrics.jsonl", deep +
                               "\n[]\n{\"train/global_step\":1e300,\"train/loss\":1e300}\n"
                               "{\"train/global_step\":\"x\",\"train/loss\":{}}\n"
                               "{\"train/global_step\":7,\"train/loss\":0.25}\n");
  for (const std::string& trace :
       {deep, std::string("[1, {\"ph\": 3}, {\"ph\": \"X\", \"tid\": \"a\"}]"),
        std::string("{\"traceEvents\": 4}")}) {
    write("a/trace.json", trace);
    EXPECT_TRUE(says(report({one}, "r.html"), "[7.0,0.25,0.25,0.25,\"measured\"]"));
    EXPECT_TRUE(skipped_.empty());
  }
}

TEST_F(Reports, NameTheKindOfEveryRunInEveryFormat) {
  const std::string over = R"(, "parallel": {"ranks": 4, "oversubscribed": true})";
  const std::vector<fs::path> runs = {run("plain"), run("crowded", "d", over),
                                      simulated("ghost", over)};
  expect_says(report(runs, "r.md"), {"| plain | measured | 1 |", "| crowded | oversubscribed | 4 |",
                                     "| ghost | simulated | 4 |"});
  expect_says(report(runs, "r.csv"),
              {"plain,measured,", "crowded,oversubscribed,", "ghost,simulated,"});
  expect_says(report(runs, "r.tex"),
              {"plain & measured &", "crowded & oversubscribed &", "ghost & simulated &"});
  expect_says(report(runs, "r.html"),
              {"[\"plain\",\"measured\"", "[\"ghost\",\"simulated\"",
               "\"name\":\"ghost (simulated)\"", "\"name\":\"crowded (oversubscribed)\""});
}

TEST_F(Reports, HaveTilesOfOneKindAndOneDataSetEach) {
  const std::vector<fs::path> runs = {run("flowers", "iris (150)"), run("digits", "mnist (full)"),
                                      simulated("ghost")};
  write("flowers/summary.json",
        R"-({"data": "iris (150)", "total_seconds": 2, "test_accuracy": 1})-");
  expect_says(report(runs, "r.html"), {R"-(["2","measured runs"],["1","simulated run"])-",
                                       R"-(["100.00%","best test accuracy, iris (measured)"])-",
                                       R"-(["50.00%","best test accuracy, mnist (measured)"])-",
                                       R"-(["50.00%","best test accuracy, d (simulated)"])-",
                                       R"-(["3.000 s","all measured runs, added up"])-",
                                       R"-(["1.000 s","all simulated runs, added up"])-"});
}

TEST_F(Reports, ArePdfPagesForTheExtensionPdf) {
  const std::string pdf = report(copies(60), "r.pdf");
  EXPECT_TRUE(pdf.starts_with("%PDF-"));
  EXPECT_TRUE(says(pdf, "%%EOF"));
  const size_t at = pdf.find("/Count ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::stoi(pdf.substr(at + 7)), 2) << "pages";
  EXPECT_FALSE(fs::exists(folder() / "r.pdf.new"));
}

TEST_F(Reports, RefuseUnknownExtensionsAndListTheKnownOnes) {
  for (const char* file : {"r.docx", "r", "r.htm"}) {
    expect_says(refused(file), {file, ".html .md .csv .tex .svg .png .pdf"});
    EXPECT_FALSE(fs::exists(folder() / file));
  }
  EXPECT_TRUE(report({run("a")}, "R.PDF").starts_with("%PDF-"));
}

TEST_F(Reports, RefuseAFigureOfRunsWithoutALoss) {
  const fs::path one = simulated("ghost");
  fs::remove(one / "metrics.jsonl");
  expect_says(error_of<UserError>([&] { write_report({one}, folder() / "r.svg", "t"); }),
              {"none of these runs has a training loss"});
  EXPECT_FALSE(fs::exists(folder() / "r.svg"));
}

TEST_F(Reports, AreTablesAndFiguresByExtension) {
  const std::vector<fs::path> runs = {run("a"), run("b")};
  for (const char* file : {"r.md", "r.csv", "r.tex", "r.svg", "r.png"})
    write_report(runs, folder() / file, "Two runs");
  expect_says(read_text(folder() / "r.md"), {"| a |", "50.00%", "measured"});
  expect_says(read_text(folder() / "r.csv"), {"run,kind,ranks", "b,measured,1"});
  expect_says(read_text(folder() / "r.tex"), {"\\toprule", "50.00\\%"});
  expect_says(read_text(folder() / "r.svg"), {"<svg"});
  EXPECT_GT(fs::file_size(folder() / "r.png"), 1000u);
}

TEST_F(Reports, WriteANumberTheSameWayInTilesTablesAndLatex) {
  const std::vector<fs::path> runs = {run("a", "d", R"(, "samples_per_second": 12345.678)")};
  expect_says(report(runs, "r.md"), {"| 12346 |", "| 1.000 |", "| 50.00% |"});
  expect_says(report(runs, "r.tex"), {"& 12346 &", "& 1.000 &", "& 50.00\\% &"});
  expect_says(report(runs, "r.html"), {"[\"12346\",\"samples/s", "[\"1.000 s\",", "[\"50.00%\","});
}

TEST_F(Reports, ShowBatchesLearningRateAndFractionalEpochs) {
  const auto row = [&](const std::string& more, const std::string& config) {
    const fs::path one = run("a", "d", more);
    write("a/config.toml", config);
    return report({one}, "r.csv");
  };
  expect_says(row(R"(, "epochs": 5)", "[train]\nbatch = 64\n[optimizer]\nlr = 0.001\n"),
              {"run,kind,ranks,batch per rank,global batch,learning rate,epochs",
               "a,measured,1,64,64,0.001,5,"});
  expect_says(
      row(R"(, "epochs": 0.4, "parallel": {"ranks": 4, "global_batch": 256})",
          "[train]\nbatch = 64\n[optimizer]\nlr = 0.1\n[schedule]\nscale_with_ranks = true\n"),
      {"a,measured,4,64,256,0.4,0.4,"});
  // A server has no batch.
  expect_says(
      row(R"(, "parallel": {"ranks": 3, "global_batch": 128})",
          "[train]\nbatch = 64\n[parallel]\nstrategy = \"parameter-server\"\nservers = 1\n"),
      {"a,measured,3,64,128,"});
  expect_says(row("", "[train]\nbatch = \"full\"\n"), {"a,measured,1,all,all,"});
  // Folds that train at the same time do not share a batch.
  expect_says(row(R"(, "ranks": 4, "groups": 4)", "[train]\nbatch = 64\n"),
              {"a,measured,4,64,64,"});
}

TEST_F(Reports, FindRunsInsideAFolderOnceEach) {
  run("parent/ranks=1");
  run("parent/ranks=2");
  run("parent/deep/er/x");
  run("parent/far/too/deep/y");
  write("parent/unfinished/config.toml", "seed = 1\n");
  fs::create_directory_symlink("ranks=2", folder() / "parent/latest");
  const std::string table = report({folder() / "parent", folder() / "parent/latest"}, "r.csv");
  expect_says(table, {"\nranks=1,", "\nranks=2,", "\ndeep/er/x,"});
  EXPECT_FALSE(says(table, "latest") || says(table, "\nfar"));
  EXPECT_EQ(table.find("ranks=2"), table.rfind("ranks=2"));
  ASSERT_EQ(skipped_.size(), 1u);
  expect_says(skipped_[0], {"unfinished", "has not ended"});
}

TEST_F(Reports, ShowPathsOfRunsWithTheSameName) {
  run("a/x");
  run("b/x");
  expect_says(report({folder() / "a/x", folder() / "b/x/"}, "r.csv"), {"a/x,", "b/x"});
  expect_says(report({folder() / "a/x/"}, "r.csv"), {"\nx,"});
}

TEST_F(Reports, OfAThousandRunsAreWrittenInTwoSeconds) {
  const std::vector<fs::path> runs = copies(1000);
  const auto start = std::chrono::steady_clock::now();
  write_report(runs, folder() / "report.html", "many");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_LT(page().size(), 20'000'000u);
}

}  // namespace
}  // namespace lockstep
