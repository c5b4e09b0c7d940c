#include "data/text/documents.h"
#include "fuzz_target.h"

namespace lockstep {
namespace {

// data.template, data.split_column, and a table: JSON lines if it begins with {, else CSV.
void read(const std::string& input) {
  const std::vector<std::string> files = files_of(input, 3);
  DataConfig config;
  config.text_template = files[0];
  config.split_column = files[1];
  config.path = scratch_file(files[2].starts_with('{') ? "table.jsonl" : "table.csv", files[2]);
  config.validation = 0.25;
  std::string note;
  expect(!read_documents(config, 7, note).empty(), "a table without documents is refused");
}

std::vector<std::string> seeds() {
  const std::string form = "Problem: {problem}\nSolution: {{{solution}}}";
  return {joined({form, "split",
                  "problem,solution,split\n1+1,2,train\n\"a,\n\"\"b\"\"\",c,valid\nx,y,other\n"}),
          joined({form, "",
                  "{\"problem\": \"1+1\", \"solution\": 2}\n\n"
                  "{\"problem\": \"\\u00e9\", \"solution\": null, \"more\": [1]}\n"})};
}

}  // namespace

FuzzTarget text_target() { return {"text", read, seeds}; }

}  // namespace lockstep
