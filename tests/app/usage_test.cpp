// Help texts, and errors for mistyped commands.

#include <algorithm>

#include "app/process_testing.h"

namespace lockstep {
namespace {

class Usage : public CommandLine {
 protected:
  // Expects exit code 2, these words on stderr and nothing on stdout.
  void expect_refused(const Arguments& arguments, const std::vector<std::string>& says) {
    const Ended ended = lockstep(arguments);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    expect_says(ended.err, says);
  }
};

TEST_F(Usage, HelpShowsExamplesFirst) {
  for (const Arguments& arguments : {Arguments{"--help"},
                                     {"train", "--help"},
                                     {"eval", "--help"},
                                     {"predict", "--help"},
                                     {"models", "--help"},
                                     {"bench", "--help"},
                                     {"config", "--help"},
                                     {"completion", "--help"}}) {
    const Ended ended = lockstep(arguments);
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.err, "");
    const size_t examples = ended.out.find("Examples:"), usage = ended.out.find("Usage:");
    ASSERT_NE(examples, std::string::npos) << arguments[0];
    ASSERT_NE(usage, std::string::npos) << arguments[0];
    EXPECT_LT(examples, usage) << arguments[0];
  }
}

TEST_F(Usage, TheVersionIsPrinted) {
  const Ended ended = lockstep({"--version"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(ended.out.starts_with("lockstep ")) << ended.out;
}

TEST_F(Usage, UnknownVerbsAreCorrected) {
  expect_refused({"trian", "iris-mlp"}, {"did you mean 'train'?"});
  expect_refused({"modles"}, {"did you mean 'models'?"});
  expect_refused({"data", "shwo", "mnist-sample"}, {"'shwo'", "did you mean 'show'?"});
}

TEST_F(Usage, NoArgumentsPrintShortHelp) {
  const Ended ended = lockstep({});
  EXPECT_EQ(ended.code, 0);
  expect_says(ended.out, {"lockstep train cnn-690k", "lockstep --help"});
  EXPECT_LT(std::count(ended.out.begin(), ended.out.end(), '\n'), 12);
}

TEST_F(Usage, UnknownOptionsAreCorrected) {
  expect_refused({"train", "iris-mlp", "--jason"}, {"--jason", "did you mean '--json'?"});
  expect_refused({"train", "iris-mlp", "--thread=2"}, {"did you mean '--threads'?"});
  expect_refused({"train", "iris-mlp", "--zzzzzz"}, {"--zzzzzz", "lockstep train --help"});
}

TEST_F(Usage, UnknownPresetsAreCorrected) {
  expect_refused({"train", "cnn-690"}, {"'cnn-690'", "did you mean 'cnn-690k'?"});
  expect_refused({"train", "nothing-like-it-at-all"}, {"expected one of", "iris-mlp"});
  expect_refused({"train", "./none.toml"}, {"./none.toml", "no such file"});
  expect_refused({"models", "iris-mpl"}, {"did you mean 'iris-mlp'?"});
}

TEST_F(Usage, UnknownKeysAndValuesAreCorrected) {
  expect_refused({"train", "iris-mlp", "--set", "train.epoch=3"}, {"did you mean 'train.epochs'?"});
  expect_refused({"train", "iris-mlp", "--set", "optimizer.name=adma"}, {"did you mean 'adam'?"});
  expect_refused({"train", "iris-mlp", "--set", "train.epochs"}, {"expected key=value"});
  expect_refused({"train", "iris-mlp", "--set", "train.batch=0"}, {"train.batch = 0", "\"full\""});
  expect_refused({"train", "iris-mlp", "--threads", "0"}, {"--threads"});
}

TEST_F(Usage, AMistakeInALayerNamesTheLayerAndLeavesNoFolder) {
  expect_refused({"train", "iris-mlp", "--set", "model.layers=[\"dense 3 rleu\"]"},
                 {"\"dense 3 rleu\"", "did you mean 'relu'?"});
  expect_refused({"train", "iris-mlp", "--set", "model.layers=[\"dense 4\"]"},
                 {"iris has 3 classes"});
  EXPECT_FALSE(fs::exists(folder() / "runs"));
}

TEST_F(Usage, AMistakeInAFileIsLocated) {
  write("my.toml", "name = \"x\"\n[train]\nepochs = \"many\"\n");
  expect_refused({"train", "my.toml"}, {"my.toml line 3", "train.epochs"});
  write("broken.toml", "name = \n");
  expect_refused({"train", "broken.toml"}, {"broken.toml line 1"});
}

TEST_F(Usage, FoldersThatAreNoRunsAreExplained) {
  expect_refused({"eval", "."}, {"not a run folder"});
  expect_refused({"eval", "none"}, {"not a run folder"});
  expect_refused({"predict", "none", "x.png"}, {"not a run folder"});
}

TEST_F(Usage, OutputThatCannotBeWrittenIsAFailure) {
  for (const char* verb : {"models", "models iris-mlp"})  // more and less than a buffer of output
    EXPECT_EQ(shell(fmt::format("lockstep {} > /dev/full", verb)).code, 1) << verb;
  write("runs", "in the way");
  const Ended ended = lockstep({"train", "iris-mlp", "--set", "train.epochs=1"});
  EXPECT_EQ(ended.code, 1);
  expect_says(ended.err, {"cannot make the folder", "runs"});
}

TEST_F(Usage, CompletionsAreValidShellCode) {
  const Ended bash = shell("lockstep completion bash > c.bash && bash -n c.bash");
  EXPECT_EQ(bash.code, 0) << bash.err;
  EXPECT_EQ(bash.err, "");
  const Ended words = shell(
      "source <(lockstep completion bash); COMP_WORDS=(lockstep tr); COMP_CWORD=1; _lockstep; "
      "echo ${COMPREPLY[@]}; COMP_WORDS=(lockstep train cnn-); COMP_CWORD=2; _lockstep; "
      "echo ${COMPREPLY[@]}; COMP_WORDS=(lockstep train --js); _lockstep; echo ${COMPREPLY[@]}");
  EXPECT_EQ(words.out, "train\ncnn-690k\n--json\n") << words.err;
  expect_says(lockstep({"completion", "fish"}).out, {"complete -c lockstep", "iris-mlp"});
  expect_says(lockstep({"completion", "zsh"}).out, {"#compdef lockstep"});
  expect_refused({"completion", "cmd"}, {"completion --help"});
}

}  // namespace
}  // namespace lockstep
