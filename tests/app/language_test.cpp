// Language models on the command line: train, fine-tune, evaluate, generate, and mistakes.

#include <cmath>

#include "app/process_testing.h"
#include "nn/files/safetensors.h"

namespace lockstep {
namespace {

constexpr const char* config = R"(
name = "writer"
[model]
layers = ["gpt2 layers 2 heads 2 width 16 context 32 vocabulary 256 dropout 0.1"]
[data]
name = "text"
path = "book.txt"
context = 16
validation = 0.1
[train]
epochs = 2
batch = 8
eval_every = 10
log_every = 5
clip_norm = 1.0
[optimizer]
name = "adamw"
lr = 0.01
)";

class Language : public CommandLine {
 protected:
  Language() {
    std::string book;
    for (int i = 0; i < 120; ++i)
      book += fmt::format("Verse {}: the quick brown fox jumps over dog {}.\n", i, i * 7 % 50);
    write("book.txt", book);
    write("writer.toml", config);
    std::string table = "id,split,problem,solution\n";
    for (int i = 0; i < 60; ++i)
      table += fmt::format("{},{},\"Add {} to a number,\nplease\",\"def f(x): return x + {}\"\n", i,
                           i % 10 == 0   ? "valid"
                           : i % 10 == 1 ? "test"
                           : i % 10 == 2 ? "prompt"
                                         : "train",
                           i, i);
    write("code.csv", table);
  }

  Json trained(const Arguments& more = {}) {
    Arguments words = {"train", "writer.toml", "--out", "run", "--force", "--json", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return json(words);
  }
  std::string wrong(const Arguments& words) {
    const Ended ended = lockstep(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    return ended.err;
  }
  // The weights of a run.
  std::vector<NamedTensor> tensors(const std::string& run) {
    return read_safetensors(folder() / run / "model/model.safetensors").tensors;
  }
};

TEST_F(Language, TrainsEvaluatesAndGenerates) {
  const Json summary = trained();
  EXPECT_EQ(summary["ending"], "finished");
  EXPECT_LT(summary["validation_loss"].get<double>(), 3.5);
  EXPECT_NEAR(summary["validation_perplexity"], std::exp(summary["validation_loss"].get<double>()),
              1e-6);
  bool evaluated = false;
  const std::string metrics = read_text(folder() / "run/metrics.jsonl");
  for (const char* name : {"train/loss", "train/grad_norm", "train/learning_rate", "train/epoch",
                           "train/global_step", "eval/loss", "eval/perplexity", "eval/runtime",
                           "eval/samples_per_second", "eval/steps_per_second"})
    EXPECT_NE(metrics.find(name), std::string::npos) << name;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    evaluated =
        evaluated || (json.value("train/global_step", 0) == 10 && json.contains("eval/loss"));
  }
  EXPECT_TRUE(evaluated);
  const Json e = json({"eval", "run", "--split", "validation", "--json"});
  EXPECT_NEAR(e["loss"], summary["validation_loss"], 1e-4);
  const Json whole = json({"eval", "run", "--data", "book.txt", "--json"});
  EXPECT_GT(whole["samples"], e["samples"]);
  expect_says(wrong({"eval", "run", "--data", "none.txt"}), {"none.txt: no such file"});

  const Arguments ask = {"generate", "run",     "--prompt", "Verse 1: ", "--max-tokens",
                         "40",       "--top-k", "40",       "--top-p",   "0.95",
                         "--seed",   "3",       "--json"};
  const Json first = json(ask), again = json(ask);
  EXPECT_EQ(first[0]["text"], again[0]["text"]);
  EXPECT_LE(first[0]["tokens"], 40);
}

TEST_F(Language, StopsAfterTheGivenNumberOfSteps) {
  trained({"--set", "train.steps=13", "--set", "train.log_every=1"});
  const std::string metrics = read_text(folder() / "run/metrics.jsonl");
  EXPECT_NE(metrics.find("\"train/global_step\":13"), std::string::npos);
  EXPECT_EQ(metrics.find("\"train/global_step\":14"), std::string::npos);
}

// The saved model is a Hugging Face directory that another run can start from.
TEST_F(Language, TrainingContinuesFromASavedDirectory) {
  const Json before = trained();
  for (const char* file : {"config.json", "generation_config.json", "vocab.json", "merges.txt",
                           "tokenizer.json", "model.safetensors"})
    EXPECT_TRUE(fs::exists(folder() / "run/model" / file)) << file;
  const Json after =
      json({"train", "writer.toml", "--set", "model.from=run/model", "--set", "optimizer.lr=1e-12",
            "--set", "train.steps=1", "--out", "second", "--json", "--quiet"});
  EXPECT_NEAR(after["validation_loss"], before["validation_loss"], 1e-4);
  const auto one = tensors("run"), two = tensors("second");
  ASSERT_EQ(one.size(), two.size());
  EXPECT_EQ(one[0].name, "transformer.wte.weight");
  const Json from_run = json({"generate", "run", "--prompt", "a", "--temperature", "0", "--json"});
  const Json from_folder =
      json({"generate", "run/model", "--prompt", "a", "--temperature", "0", "--json"});
  EXPECT_EQ(from_run[0]["text"], from_folder[0]["text"]);
}

TEST_F(Language, TablesAreMergedByATemplateAndSplitByAColumn) {
  trained();
  const Json summary = json({"train", "gpt2-finetune", "--set", "model.from=run/model", "--set",
                             "data.path=code.csv", "--set", "data.context=16", "--set",
                             "train.epochs=2", "--out", "tuned", "--json", "--quiet"});
  EXPECT_NE(summary["data"].get<std::string>().find("6 rows of 'prompt' left out"),
            std::string::npos)
      << summary["data"];
  EXPECT_TRUE(summary["validation_loss"].is_number());
  EXPECT_TRUE(summary["test_loss"].is_number());
}

TEST_F(Language, RanksTrainTheSameModelAsOneRank) {
  const Arguments common = {"--set", "train.batch=8",  "--set", "parallel.batch=global",
                            "--set", "train.steps=10", "--set", "optimizer.epsilon=0.001"};
  for (const std::string backend : {"threads", "mpi"})
    for (const std::string strategy : {"all-reduce", "reduce-broadcast"}) {
      Arguments one = common, two = common;
      two.insert(two.end(),
                 {"--ranks", "2", "--backend", backend, "--set", "parallel.strategy=" + strategy});
      const double alone = trained(one)["validation_loss"];
      const auto expected = tensors("run");
      EXPECT_NEAR(trained(two)["validation_loss"], alone, 1e-3) << backend << " " << strategy;
      const auto got = tensors("run");
      ASSERT_EQ(got.size(), expected.size());
      double largest = 0;
      for (size_t t = 0; t < got.size(); ++t)
        for (size_t i = 0; i < got[t].values.size(); ++i)
          largest = std::max<double>(largest, std::abs(got[t].values[i] - expected[t].values[i]));
      // The gradients of key biases are rounding errors; a large epsilon keeps Adam from scaling
      // them up.
      EXPECT_LT(largest, 1e-4) << backend << " " << strategy;
    }
}

// Only the adapted matrices change, and the saved model is a plain GPT-2.
TEST_F(Language, LoraChangesOnlyTheListedMatrices) {
  trained();
  const Json summary =
      json({"train", "writer.toml", "--set", "model.from=run/model", "--set", "model.lora_rank=2",
            "--set", "model.lora_on=attn.c_proj", "--out", "tuned", "--json", "--quiet"});
  EXPECT_EQ(summary["parameters"], 2 * 2 * (16 + 16));
  const auto before = tensors("run"), after = tensors("tuned");
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].name, after[i].name);
    EXPECT_EQ(before[i].values != after[i].values, before[i].name.ends_with("attn.c_proj.weight"))
        << before[i].name;
  }
  const Json e = json({"eval", "tuned", "--split", "validation", "--json"});
  EXPECT_NEAR(e["loss"], summary["validation_loss"], 1e-3);
  expect_says(wrong({"train", "writer.toml", "--set", "model.lora_rank=2", "--set",
                     "model.lora_on=attn.c_atn"}),
              {"'attn.c_atn' is not a matrix", "did you mean 'attn.c_attn'"});
}

TEST_F(Language, ModelsShowsTheMemoryPerRank) {
  const Ended models = lockstep({"models", "gpt2-medium", "--ranks", "8"});
  EXPECT_EQ(models.code, 0) << models.err;
  expect_says(models.out, {"354,823,168", "Memory per rank, 8 ranks"});
}

TEST_F(Language, BadConfigurationsAreExplained) {
  expect_says(wrong({"train", "writer.toml", "--set", "data.path=none.txt"}), {"none.txt"});
  expect_says(wrong({"train", "writer.toml", "--set", "data.context=64"}),
              {"32 positions", "samples have 64"});
  expect_says(wrong({"train", "writer.toml", "--set", "data.path=code.csv", "--set",
                     "data.template=Q: {problme}"}),
              {"code.csv has no column 'problme'", "did you mean 'problem'"});
  expect_says(wrong({"train", "writer.toml", "--set", "data.path=code.csv", "--set",
                     "data.template=no column"}),
              {"names no column"});
  expect_says(wrong({"train", "writer.toml", "--set", "data.path=code.csv", "--set",
                     "data.template={problem", "--set", "data.split_column=split"}),
              {"names no column", "character 1"});
  expect_says(wrong({"train", "writer.toml", "--set", "data.path=code.csv", "--set",
                     "data.template={problem}", "--set", "data.split_column=id"}),
              {"no rows to train on", "expected train, valid or test"});
  expect_says(wrong({"train", "writer.toml", "--set", "data.tokenizer=nowhere"}),
              {"\"nowhere\" is neither"});
  expect_says(wrong({"train", "writer.toml", "--set",
                     "model.layers=[\"gpt2 heads 5 width 16 vocabulary 256\"]"}),
              {"5 heads do not divide a width of 16"});
  expect_says(wrong({"train", "writer.toml", "--set",
                     "model.layers=[\"gpt2 layers 1 heads 1 width 8 vocabulary 200\"]"}),
              {"vocabulary of 200", "need 256"});
  write("short.txt", "too short");
  expect_says(wrong({"train", "writer.toml", "--set", "data.path=short.txt"}), {"tokens", "17"});
}

TEST_F(Language, BadDirectoriesAreExplained) {
  trained({"--set", "train.steps=1"});
  const fs::path model = folder() / "run/model";
  fs::remove(model / "digests.txt");  // like a directory that lockstep did not write
  const auto start = [&] {
    return wrong({"train", "writer.toml", "--set", "model.from=run/model", "--out", "x"});
  };
  const std::string good = read_text(model / "config.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write_file(model / "config.json", text);
    return start();
  };
  expect_says(with("\"n_head\": 2", "\"n_head\": 3"), {"n_head = 3 does not divide n_embd = 16"});
  expect_says(with("\"n_layer\": 2", "\"n_layer\": 999999999"), {"'n_layer' is 999999999", "1000"});
  expect_says(with("\"n_layer\": 2", "\"n_layer\": \"two\""), {"'n_layer' is \"two\""});
  expect_says(with("\"n_layer\": 2", "\"n_layer\": 2, \"n_layer\": 3"), {"appears twice"});
  expect_says(with("\"model_type\": \"gpt2\"", "\"model_type\": \"llama\""), {"llama", "gpt2"});
  expect_says(with("gelu_new", "relu"), {"activation_function", "relu"});
  expect_says(with("{", std::string(500, '[')), {"config.json"});
  expect_says(with("\"n_layer\": 2", "\"n_layer\": 3"), {"model.layers is"});
  write_file(model / "config.json", good);

  const std::string whole = read_text(model / "model.safetensors");
  write_file(model / "model.safetensors", whole.substr(0, whole.size() / 2));
  expect_says(start(), {"not a valid safetensors file"});
  TensorFile some = [&] {
    write_file(model / "model.safetensors", whole);
    return read_safetensors(model / "model.safetensors");
  }();
  some.tensors[2].name = "transformer.h.7.other";
  some.tensors.pop_back();
  write_file(model / "model.safetensors", safetensors_bytes(some.tensors, {}));
  expect_says(start(), {"it lacks transformer.h.0.ln_1.weight, transformer.ln_f.bias",
                        "unknown are transformer.h.7.other"});
  fs::remove(model / "model.safetensors");
  expect_says(start(), {"no model.safetensors"});
  write_file(model / "pytorch_model.bin", std::string("x"));
  expect_says(start(), {"pickle", "convert it", "safe_serialization"});
}

// Several files and an index that maps each tensor to its file.
TEST_F(Language, ShardedDirectoriesAreRead) {
  const Json before = trained();
  const fs::path model = folder() / "run/model";
  fs::remove(model / "digests.txt");  // like a directory that lockstep did not write
  const TensorFile file = read_safetensors(model / "model.safetensors");
  const auto middle = file.tensors.begin() + 5;
  write_file(model / "model-1.safetensors", safetensors_bytes({file.tensors.begin(), middle}, {}));
  write_file(model / "model-2.safetensors", safetensors_bytes({middle, file.tensors.end()}, {}));
  Json index;
  for (size_t i = 0; i < file.tensors.size(); ++i)
    index["weight_map"][file.tensors[i].name] =
        i < 5 ? "model-1.safetensors" : "model-2.safetensors";
  write_file(model / "model.safetensors.index.json", index.dump());
  fs::remove(model / "model.safetensors");
  const Arguments again = {"train",   "writer.toml",
                           "--set",   "model.from=run/model",
                           "--set",   "optimizer.lr=1e-12",
                           "--set",   "train.steps=1",
                           "--force", "--out",
                           "second",  "--json",
                           "--quiet"};
  EXPECT_NEAR(json(again)["validation_loss"], before["validation_loss"], 1e-4);
  index["weight_map"]["transformer.wte.weight"] = "../secret";
  write_file(model / "model.safetensors.index.json", index.dump());
  expect_says(wrong(again), {"../secret", "not a file of this folder"});
}

TEST_F(Language, OtherVerbsHandleTextData) {
  trained({"--set", "train.steps=2"});
  expect_says(lockstep({"data", "info", "text", "--path", "book.txt"}).out, {"book.txt"});
  expect_says(wrong({"predict", "run", "--data", "text"}), {"lockstep generate run"});
  const Json folds = json({"crossval", "writer.toml", "--folds", "2", "--set", "train.epochs=1",
                           "--set", "train.eval_every=0", "--json", "--quiet", "--out", "folds"});
  EXPECT_FALSE(folds.empty());
}

TEST_F(Language, TokenizeEncodesAndDecodes) {
  EXPECT_EQ(lockstep({"tokenize", "--bytes", "Hi!"}).out, "72 105 33\n");
  EXPECT_EQ(lockstep({"tokenize", "--bytes", "--decode", "72", "105", "33"}).out, "Hi!\n");
  EXPECT_EQ(shell("printf 'Hi!' | lockstep tokenize --bytes --count").out, "3\n");
  expect_says(wrong({"tokenize", "--bytes", "--decode", "72", "x"}), {"not a list of token ids"});
  expect_says(wrong({"tokenize", "--bytes", "--decode", "300"}), {"300", "256 tokens"});
  expect_says(wrong({"generate", "nowhere"}), {"nowhere"});
}

}  // namespace
}  // namespace lockstep
