#include "base/error.h"
#include "config/run_config.h"
#include "fuzz_target.h"

namespace lockstep {
namespace {

// Lines that begin with "--set " are changes on the command line, the rest is the file.
void read(const std::string& input) {
  std::string file;
  std::vector<std::string> changes;
  for (size_t at = 0, end; at < input.size(); at = end + 1) {
    end = std::min(input.find('\n', at), input.size());
    const std::string line = input.substr(at, end - at);
    if (line.starts_with("--set "))
      changes.push_back(line.substr(6));
    else
      file += line + "\n";
  }
  RunConfig config = parse_config(file, "input");
  for (const std::string& change : changes) set_keys(config, {parse_assignment(change)});
  check(config);
  const std::string text = to_toml(config);
  try {
    expect(to_toml(parse_config(text, "written")) == text,
           "a written configuration is read back unchanged");
  } catch (const UserError& error) {
    throw std::logic_error(std::string("a configuration that was written is refused: ") +
                           error.what());
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> all = repository_files("presets");
  for (const char* changes :
       {"--set train.epochs=3\n--set optimizer.lr=1e-3\n", "--set name=a \"b\" \\n c\n",
        "--set model.layers=[\"dense 3\"]\n--set parallel.ranks=2\n"})
    all.push_back(all.front() + "\n" + changes);
  return all;
}

}  // namespace

FuzzTarget config_target() { return {"config", read, seeds}; }

}  // namespace lockstep
