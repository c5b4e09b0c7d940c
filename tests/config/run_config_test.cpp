// Configurations: every key survives a round trip, and every mistake gets a message.

#include "config/run_config.h"
#include "config/settings.h"

#include <set>

#include "base/error.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

std::string error_for(const std::string& text) {
  return error_of<UserError>([&] { parse_config(text, "my.toml"); });
}
std::string error_for_set(const std::string& assignment) {
  RunConfig config;
  return error_of<UserError>([&] { set_keys(config, {parse_assignment(assignment)}); });
}

TEST(RunConfig, RefusesANameThatIsAPath) {
  for (const char* name : {"../victim", "/tmp/x", "a/b", ".hidden", "..", "a\\u001b[31mb"})
    expect_says(error_for_set(std::string("name=\"") + name + "\""),
                {"--set name=", "a name becomes a folder"});
  RunConfig config;
  set_keys(config, {parse_assignment("name=\"my first run\"")});
  EXPECT_EQ(config.name, "my first run");
  config.name = "";
  expect_says(error_of<UserError>([&] { check(config); }), {"name", "is empty"});
}

TEST(RunConfig, TheResolvedConfigurationReadsBackAsItself) {
  RunConfig config;
  config.name = "a \"name\"";
  config.description = "two\nlines";
  config.seed = 12345;
  config.model.layers = {"conv 32 3x3 relu", "dense 10"};
  config.data.test = 0.2;
  config.data.stratified = true;
  config.train.batch = 0;
  config.optimizer.lr = 0.1 + 0.2;  // no short decimal
  config.optimizer.epsilon = 1e-8;
  config.schedule.warmup_epochs = 3;
  const std::string text = to_toml(config);
  EXPECT_EQ(to_toml(parse_config(text, "x")), text);
  EXPECT_EQ(parse_config(text, "x").optimizer.lr, 0.1 + 0.2);
  EXPECT_EQ(parse_config(text, "x").train.batch, 0);
  EXPECT_EQ(parse_config(text, "x").name, config.name);
}

TEST(RunConfig, EveryKeyIsInTheResolvedConfiguration) {
  const TomlValues values = parse_toml(to_toml(RunConfig{}), "x");
  std::set<std::string> keys, found;
  for (const Setting& setting : settings()) keys.insert(setting.key);
  for (const auto& [key, value] : values) found.insert(key);
  EXPECT_EQ(found, keys);
  EXPECT_EQ(keys.size(), settings().size()) << "a key is listed twice";
}

TEST(RunConfig, DefaultsAreAllowedValues) {
  EXPECT_NO_THROW(parse_config(to_toml(RunConfig{}), "x"));
  for (const Setting& setting : settings())
    EXPECT_FALSE(setting.description.empty()) << setting.key;
}

TEST(RunConfig, AnUnknownKeyIsLocatedAndGetsASuggestion) {
  expect_says(error_for("\n[train]\nepoch = 3\n"),
              {"my.toml line 3", "'train.epoch'", "did you mean 'train.epochs'?"});
  expect_says(error_for("[optimiser]\nlr = 3\n"), {"did you mean 'optimizer.lr'?"});
  expect_says(error_for_set("lr=3"), {"--set lr=3", "did you mean 'optimizer.lr'?"});
  expect_says(error_for_set("florbs=3"), {"no key 'florbs'", "docs/configuration.md"});
}

TEST(RunConfig, AnUnknownValueIsLocatedAndGetsASuggestion) {
  expect_says(error_for("[optimizer]\nname = \"adamm\"\n"),
              {"my.toml line 2", "optimizer.name = \"adamm\"", "did you mean 'adam'?"});
  expect_says(error_for_set("data.name=mnits"), {"--set data.name=mnits", "did you mean 'mnist'?"});
  expect_says(error_for_set("train.loss=hinge-of-doom"), {"train.loss"});
  expect_says(error_for_set("train.keep=all"), {"expected one of last, best"});
  expect_says(error_for_set("device.name=gpu"), {"device.name = \"gpu\""});
  expect_says(error_for_set("schedule.name=cosin"), {"did you mean 'cosine'?"});
  expect_says(error_for_set("model.init=tensorflow"), {"expected one of pytorch, keras"});
  expect_says(error_for_set("data.normalize=standardise"), {"did you mean 'standardize'?"});
}

TEST(RunConfig, NumbersOutOfRangeAreRefused) {
  for (const char* assignment : {"train.batch=0",
                                 "train.batch=-1",
                                 "train.epochs=0",
                                 "train.epochs=-5",
                                 "optimizer.lr=0",
                                 "optimizer.lr=-0.1",
                                 "optimizer.lr=nan",
                                 "optimizer.lr=inf",
                                 "optimizer.momentum=1.5",
                                 "optimizer.beta1=1.0",
                                 "optimizer.beta2=1",
                                 "optimizer.epsilon=0",
                                 "optimizer.weight_decay=-1",
                                 "train.micro_batch=0",
                                 "train.clip_norm=-1",
                                 "train.early_stopping=-1",
                                 "device.threads=0",
                                 "device.threads=100000",
                                 "data.workers=-1",
                                 "data.validation=-0.5",
                                 "data.test=-1",
                                 "data.limit=-1",
                                 "schedule.warmup_epochs=-1",
                                 "schedule.step_epochs=0",
                                 "schedule.final_factor=2",
                                 "train.epochs=9999999999999999999"}) {
    const std::string key = std::string(assignment).substr(0, std::string(assignment).find('='));
    expect_says(error_for_set(assignment), {std::string("--set ") + assignment, key});
  }
}

TEST(RunConfig, ValuesOfTheWrongTypeAreRefused) {
  expect_says(error_for_set("train.epochs=2.5"),
              {"train.epochs is a number", "a whole number was expected"});
  expect_says(error_for_set("train.epochs=many"),
              {"train.epochs is text", "a whole number was expected"});
  expect_says(error_for_set("optimizer.lr=fast"),
              {"optimizer.lr is text", "a number was expected"});
  expect_says(error_for_set("data.stratified=1"), {"true or false was expected"});
  expect_says(error_for_set("model.layers=dense"), {"a list of texts was expected"});
  expect_says(error_of<UserError>([] { parse_config("name = 3\n", "x"); }),
              {"text in quotes was expected"});
  expect_says(error_for_set("train.batch=half"), {"train.batch is text"});
}

TEST(RunConfig, TextOnACommandLineNeedsNoQuotes) {
  RunConfig config;
  set_keys(config, {parse_assignment("parallel.affinity=0")});
  EXPECT_EQ(config.parallel.affinity, "0");
}

TEST(RunConfig, AnIntegerIsAcceptedForAFloat) {
  EXPECT_EQ(parse_config("[optimizer]\nlr = 1\n", "x").optimizer.lr, 1.0);
}

TEST(RunConfig, BatchFullIsTheWholeTrainingPart) {
  EXPECT_EQ(parse_config("[train]\nbatch = \"full\"\n", "x").train.batch, 0);
  EXPECT_NE(to_toml(parse_config("[train]\nbatch = \"full\"\n", "x")).find("batch = \"full\""),
            std::string::npos);
}

TEST(RunConfig, EarlyStoppingAndKeepBestNeedAValidationPart) {
  RunConfig config;
  config.train.early_stopping = 3;
  expect_says(error_of<UserError>([&] { check(config); }), {"early_stopping", "data.validation"});
  config.train.early_stopping = 0;
  config.train.keep = Keep::best;
  expect_says(error_of<UserError>([&] { check(config); }), {"train.keep", "data.validation"});
  config.data.validation = 0.1;
  EXPECT_NO_THROW(check(config));
}

TEST(RunConfig, RefusesASoftmaxLayerBeforeSoftmaxCrossEntropy) {
  RunConfig config;
  config.model.layers = {"dense 10 softmax"};
  expect_says(error_of<UserError>([&] { check(config); }),
              {"ends in softmax", "drop the last layer"});
  config.train.loss = LossKind::mean_squared_error;
  EXPECT_NO_THROW(check(config));
}

TEST(RunConfig, KeepsEveryDigitOfASeed) {
  const RunConfig config = parse_config("seed = 8007199254740993", "a.toml");
  EXPECT_EQ(config.seed, 8007199254740993);
}

}  // namespace
}  // namespace lockstep
