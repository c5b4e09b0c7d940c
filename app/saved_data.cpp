#include "saved_data.h"

#include <fmt/format.h>

#include "base/error.h"
#include "train/record/run_claim.h"

namespace lockstep {

SavedRun open_run(const std::string& folder) {
  const fs::path path = run_or_latest(folder);
  if (folder.empty()) fmt::print(stderr, "{} is {}\n", latest_link().string(), path.string());
  SavedRun run = load_run(path);
  if (!run.has_digests) note_unchecked(path / "model");
  return run;
}

void note_unchecked(const fs::path& folder) {
  fmt::print(stderr, "note: {} has no digests.txt: its files were not checked for damage\n",
             folder.string());
}

SavedData load_for(const SavedRun& run, const std::string& name, SplitPart split) {
  DataConfig config = run.config.data;
  const bool reads_text = run.network->output().is_sequence();
  if (reads_text) {
    if (fs::is_directory(run.path / "model")) config.tokenizer = (run.path / "model").string();
    if (!name.empty()) {  // the whole file is one part
      if (!fs::is_regular_file(name))
        throw UserError(
            "--data {}: no such file; a language model needs a .txt, .csv or .jsonl file", name);
      config.path = name;
      config.name = "text";
      config.split_column = "";
      config.validation = config.test = 0;
    }
  } else if (!name.empty() && name != config.name) {
    config = DataConfig{.name = name};
  }
  SavedData data{.splits = load_data(config, static_cast<uint64_t>(run.config.seed), say_to_stderr,
                                     &run.normalizer)};
  const DataSplits& s = data.splits;
  const bool whole_file = reads_text && !name.empty();
  data.part = s.part(whole_file ? SplitPart::train : split);
  if (!data.part) {
    std::vector<std::string> parts;
    for (const SplitPart part : {SplitPart::train, SplitPart::validation, SplitPart::test})
      if (s.part(part)) parts.emplace_back(to_text(part));
    throw UserError("{} has no {} part; try --split {}", s.provenance, to_text(split),
                    fmt::join(parts, " or --split "));
  }
  if (!(data.part->sample_shape() == run.network->input()))
    throw UserError("{} has samples of {}, but the network was trained on {}", s.provenance,
                    data.part->sample_shape().text(), run.network->input().text());
  if (reads_text)
    run.network->expect_outputs(data.part->outputs(), s.provenance);
  else if (data.part->outputs() != run.network->output().elements())
    throw UserError("{} has {} classes, but the network has {} outputs", s.provenance,
                    data.part->outputs(), run.network->output().elements());
  return data;
}

}  // namespace lockstep
