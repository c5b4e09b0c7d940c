#include "saved_data.h"

#include "base/error.h"

namespace lockstep {

SavedData load_for(const SavedRun& run, const std::string& name, const std::string& split) {
  DataConfig config = run.config.data;
  if (!name.empty() && name != config.name) config = DataConfig{.name = name};
  SavedData data{.splits = load_data(config, static_cast<uint64_t>(run.config.seed), say_to_stderr,
                                     &run.normalizer)};
  const DataSplits& s = data.splits;
  data.part = split == "train"  ? s.train.get()
              : split == "test" ? s.test.get()
                                : s.validation.get();
  if (!data.part) throw UserError("{} has no {} part; try --split train", s.provenance, split);
  if (!(data.part->sample_shape() == run.network->input()))
    throw UserError("{} has samples of {}, but the network was trained on {}", s.provenance,
                    data.part->sample_shape().text(), run.network->input().text());
  if (static_cast<int64_t>(data.part->classes().size()) != run.network->output().elements())
    throw UserError("{} has {} classes, but the network tells {} apart", s.provenance,
                    data.part->classes().size(), run.network->output().elements());
  return data;
}

}  // namespace lockstep
