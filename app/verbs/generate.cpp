#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/with_commas.h"
#include "generate/generator.h"
#include "nn/files/hugging_face.h"
#include "os/digests.h"
#include "saved_data.h"
#include "text.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string model, prompt, prompts;
  GenerationOptions generation;
  int threads = 1;
  bool json = false, quiet = false;
};

// A language model: from a run, or from a Hugging Face directory.
struct Model {
  std::vector<std::string> lines;
  std::unique_ptr<Parameters> parameters;
  Tokenizer tokenizer;
};

Model load(const std::string& path) {
  if (!path.empty() && is_hugging_face(path)) {
    const std::vector<std::string> lines = {text(read_gpt2_config(path))};
    auto parameters = std::make_unique<Parameters>(Network(lines, Shape{1}));
    load_gpt2(path, *parameters);
    if (!fs::exists(digests_path(path))) note_unchecked(path);
    return {lines, std::move(parameters), Tokenizer::read(path)};
  }
  SavedRun run = open_run(path);
  if (!gpt2_of(run.network->lines()))
    throw UserError("{} is not a language model; train one, e.g. 'lockstep train gpt2-shakespeare'",
                    run.path.string());
  return {run.network->lines(), std::move(run.parameters), Tokenizer::read(run.path / "model")};
}

// One prompt per line.
std::vector<std::string> prompts_of(const Options& options) {
  if (options.prompts.empty()) return {options.prompt};
  std::vector<std::string> prompts;
  std::istringstream lines(read_text(options.prompts));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) prompts.push_back(line);
  if (prompts.empty())
    throw UserError("{} holds no prompt; expected one per line", options.prompts);
  return prompts;
}

void generate(const Options& options) {
  if (!options.prompt.empty() && !options.prompts.empty())
    throw UserError("give --prompt or --prompts, not both");
  const std::vector<std::string> prompts = prompts_of(options);
  const Model model = load(options.model);
  const std::unique_ptr<Device> device = make_device({.threads = options.threads});
  model.parameters->move_to(*device);
  Generator generator(model.lines, *model.parameters, *device, model.tokenizer);
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string& prompt : prompts) {
    if (!options.json) fmt::print("{}", prompt);
    const Generation g = generator.run(prompt, options.generation, [&](const std::string& text) {
      if (options.json) return;
      fmt::print("{}", text);
      std::fflush(stdout);
    });
    if (!options.json) fmt::print("\n");
    const double rate = static_cast<double>(g.tokens) / std::max(g.seconds, 1e-9);
    if (g.dropped_tokens > 0)
      fmt::print(
          stderr,
          "lockstep: the prompt has {} tokens, more than fit into the context: its first {} were "
          "dropped\n",
          with_commas(g.prompt_tokens), with_commas(g.dropped_tokens));
    if (!options.quiet && !options.json)
      fmt::print(stderr, "{} tokens, {:.1f} tokens/s, ended by {}\n", g.tokens, rate, g.ending);
    all.push_back({{"prompt", prompt},
                   {"text", g.text},
                   {"tokens", g.tokens},
                   {"prompt_tokens", g.prompt_tokens},
                   {"dropped_prompt_tokens", g.dropped_tokens},
                   {"ending", g.ending},
                   {"prompt_seconds", g.prompt_seconds},
                   {"seconds", g.seconds},
                   {"tokens_per_second", rate}});
  }
  using Json = nlohmann::ordered_json;
  if (options.json) fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void add_generate_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("generate", R"(Continue a text with a trained language model.

Examples:
  lockstep generate runs/gpt2-shakespeare --prompt "ROMEO:" --max-tokens 200 --temperature 0.8 --top-k 40
  lockstep generate path/to/gpt2 --prompt "Write a function that" --top-p 0.95 --seed 1
  lockstep generate runs/x --prompts prompts.txt --json
)");
  GenerationOptions& g = options->generation;
  verb->add_option("model", options->model,
                   "folder of a run (default: runs/latest), or a Hugging Face directory");
  verb->add_option("--prompt", options->prompt, "the text to continue");
  verb->add_option("--prompts", options->prompts, "a file with one prompt per line");
  verb->add_option("--max-tokens", g.max_tokens, "maximum number of tokens")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  verb->add_option("--temperature", g.sampling.temperature,
                   "sampling temperature; 0: always the most likely token")
      ->check(CLI::Range(0.0, 100.0));
  verb->add_option("--top-k", g.sampling.top_k, "sample from the K most likely tokens; 0: from all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30));
  verb->add_option("--top-p", g.sampling.top_p,
                   "sample from the most likely tokens with this total probability")
      ->check(CLI::Range(1e-9, 1.0));
  verb->add_option("--repetition-penalty", g.sampling.repetition_penalty,
                   "lower the scores of earlier tokens by this factor; 1: off")
      ->check(CLI::Range(0.01, 100.0));
  verb->add_option("--stop", g.stops, "stop before this text; may be repeated");
  verb->add_option("--seed", g.sampling.seed, "random seed");
  verb->add_option("--threads", options->threads, "threads")->check(CLI::Range(1, 1024));
  verb->add_flag("--json", options->json, "print JSON instead of the text");
  verb->add_flag("--quiet", options->quiet, "print only the text");
  verb->callback([options] { generate(*options); });
}

}  // namespace lockstep
