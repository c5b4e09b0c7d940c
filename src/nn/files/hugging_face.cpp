#include "nn/files/hugging_face.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/strict_json.h"
#include "nn/files/safetensors.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int deepest = 16;
constexpr uintmax_t largest_json = 64 << 20;

// Reads a JSON object; limits its size and nesting and rejects duplicate top-level keys.
Json read_json(const fs::path& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) throw UserError("cannot read {}: {}", path.string(), error.message());
  if (size > largest_json)
    throw UserError("{} has {} bytes; at most {} were expected", path.string(), size, largest_json);
  return parse_object<Json>(read_text(path), path.string(), deepest);
}

class Config {
 public:
  explicit Config(const fs::path& folder)
      : path_((folder / "config.json").string()), json_(read_json(folder / "config.json")) {}

  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

  int64_t count(const char* key, int64_t most) const {
    if (!has(key)) throw UserError("{} lacks '{}'", path_, key);
    const Json& value = json_[key];
    if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > most)
      throw UserError("{}: '{}' is {}; expected a whole number from 1 to {}", path_, key,
                      value.dump(), most);
    return value.get<int64_t>();
  }
  double number(const char* key, double otherwise, double least, double below) const {
    if (!has(key)) return otherwise;
    const Json& value = json_[key];
    if (!value.is_number() || !(value.get<double>() >= least) || !(value.get<double>() < below))
      throw UserError("{}: '{}' is {}; expected a number from {} to below {}", path_, key,
                      value.dump(), least, below);
    return value.get<double>();
  }
  template <typename Value>
  void expect(const char* key, const Value& expected) const {
    if (has(key) && json_[key] != Json(expected))
      throw UserError("{}: '{}' is {}; only {} is supported", path_, key, json_[key].dump(),
                      Json(expected).dump());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Json json_;
};

// model.safetensors, or the files its index names.
std::vector<fs::path> tensor_files(const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors")) return {folder / "model.safetensors"};
  const fs::path index = folder / "model.safetensors.index.json";
  if (!fs::exists(index)) {
    for (const char* pickle : {"pytorch_model.bin", "pytorch_model.pt", "model.pt", "model.bin"})
      if (fs::exists(folder / pickle))
        throw UserError(
            "{} is a pickle file, which can run code when it is read, so it is refused; convert "
            "it: "
            "python3 -c \"from transformers import AutoModelForCausalLM as M; "
            "M.from_pretrained('{}').save_pretrained('converted', safe_serialization=True)\"",
            (folder / pickle).string(), folder.string());
    throw UserError("{} has no model.safetensors and no model.safetensors.index.json",
                    folder.string());
  }
  const Json json = read_json(index);
  if (!json.contains("weight_map") || !json["weight_map"].is_object())
    throw UserError("{} lacks 'weight_map'", index.string());
  std::set<std::string> names;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos || name == "..")
      throw UserError("{}: tensor '{}' is in {}, which is not a file of this folder",
                      index.string(), tensor, file.dump());
    names.insert(name);
  }
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(folder / name);
  return files;
}

// Attention masks saved by old versions, and the output matrix, which is tied to the embedding.
bool is_redundant(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name == "lm_head.weight";
}

std::string full_name(const std::string& name) {
  return name.starts_with("transformer.") ? name : "transformer." + name;
}

}  // namespace

bool is_hugging_face(const fs::path& folder) {
  return fs::exists(folder / "config.json") && !fs::exists(folder / "config.toml");
}

Gpt2 read_gpt2_config(const fs::path& folder) {
  if (!fs::exists(folder / "config.json"))
    throw UserError("{} is not a Hugging Face directory: it has no config.json", folder.string());
  const Config config(folder);
  config.expect("model_type", "gpt2");
  config.expect("activation_function", "gelu_new");
  config.expect("scale_attn_weights", true);
  config.expect("scale_attn_by_inverse_layer_idx", false);
  config.expect("tie_word_embeddings", true);
  config.expect("add_cross_attention", false);
  if (config.number("layer_norm_epsilon", 1e-5, 0, 1) != 1e-5)
    throw UserError("{}: only a layer_norm_epsilon of 1e-5 is supported", config.path());
  Gpt2 g{.layers = config.count("n_layer", 1000),
         .heads = config.count("n_head", 1 << 16),
         .width = config.count("n_embd", 1 << 16),
         .context = config.count(config.has("n_positions") ? "n_positions" : "n_ctx", 1 << 20),
         .vocabulary = config.count("vocab_size", (1 << 24) - 1),
         .dropout = static_cast<float>(config.number("resid_pdrop", 0.1, 0, 1))};
  if (g.width % g.heads != 0)
    throw UserError("{}: n_head = {} does not divide n_embd = {}", config.path(), g.heads, g.width);
  config.expect("n_inner", 4 * g.width);
  return g;
}

void load_gpt2(const fs::path& folder, Parameters& parameters) {
  struct Slot {
    const Parameters::Entry* entry;
    const HostMirror* memory;
  };
  std::map<std::string, Slot> missing;
  for (const Parameters::Entry& entry : parameters.entries())
    if (entry.spec.name.find(".lora_") == std::string::npos)
      missing[entry.spec.name] = {&entry, &parameters.weights_on_host()};
  for (const Parameters::Entry& entry : parameters.state_entries())
    missing[entry.spec.name] = {&entry, &parameters.state_on_host()};
  std::vector<std::string> unknown;
  for (const fs::path& path : tensor_files(folder))
    for (const NamedTensor& tensor : read_safetensors(path).tensors) {
      if (is_redundant(tensor.name)) continue;
      const auto found = missing.find(full_name(tensor.name));
      if (found == missing.end()) {
        unknown.push_back(tensor.name);
        continue;
      }
      const auto& [entry, memory] = found->second;
      const Shape& shape = entry->spec.canonical;
      bool fits = static_cast<size_t>(shape.rank()) == tensor.shape.size();
      for (int i = 0; fits && i < shape.rank(); ++i)
        fits = tensor.shape[static_cast<size_t>(i)] == shape[i];
      if (!fits)
        throw UserError("{}: tensor '{}' has shape {}, config.json requires {}", path.string(),
                        tensor.name, fmt::join(tensor.shape, "x"), shape.text());
      Parameters::write(*entry, tensor.values, *memory);
      missing.erase(found);
    }
  if (missing.empty() && unknown.empty()) return;
  std::vector<std::string> lacking;
  for (const auto& [name, entry] : missing) lacking.push_back(name);
  throw UserError("{} does not fit its config.json: {}{}{}{}", folder.string(),
                  lacking.empty() ? "" : "it lacks ", fmt::join(lacking, ", "),
                  unknown.empty()   ? ""
                  : lacking.empty() ? "it has unknown tensors "
                                    : "; unknown are ",
                  fmt::join(unknown, ", "));
}

std::map<std::string, std::string> gpt2_files(const Gpt2& g, int32_t end_of_text) {
  const Json config{{"activation_function", "gelu_new"},
                    {"architectures", {"GPT2LMHeadModel"}},
                    {"attn_pdrop", g.dropout},
                    {"bos_token_id", end_of_text},
                    {"embd_pdrop", g.dropout},
                    {"eos_token_id", end_of_text},
                    {"initializer_range", 0.02},
                    {"layer_norm_epsilon", 1e-5},
                    {"model_type", "gpt2"},
                    {"n_ctx", g.context},
                    {"n_embd", g.width},
                    {"n_head", g.heads},
                    {"n_inner", nullptr},
                    {"n_layer", g.layers},
                    {"n_positions", g.context},
                    {"resid_pdrop", g.dropout},
                    {"scale_attn_weights", true},
                    {"tie_word_embeddings", true},
                    {"torch_dtype", "float32"},
                    {"use_cache", true},
                    {"vocab_size", g.vocabulary}};
  const Json generation{{"bos_token_id", end_of_text}, {"eos_token_id", end_of_text}};
  return {{"config.json", config.dump(2) + "\n"},
          {"generation_config.json", generation.dump(2) + "\n"}};
}

}  // namespace lockstep
