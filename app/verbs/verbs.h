#pragma once

#include <CLI/CLI.hpp>

namespace lockstep {

// One function per verb, defined in verbs/<name>.cpp; `verify` is in verbs/runs.cpp.
void add_train_verb(CLI::App& app);
void add_crossval_verb(CLI::App& app);
void add_eval_verb(CLI::App& app);
void add_predict_verb(CLI::App& app);
void add_recommend_verb(CLI::App& app);
void add_generate_verb(CLI::App& app);
void add_tokenize_verb(CLI::App& app);
void add_study_verb(CLI::App& app);
void add_report_verb(CLI::App& app);
void add_runs_verb(CLI::App& app);
void add_verify_verb(CLI::App& app);
void add_models_verb(CLI::App& app);
void add_cluster_verb(CLI::App& app);
void add_bench_verb(CLI::App& app);
void add_config_verb(CLI::App& app);
void add_doctor_verb(CLI::App& app);
void add_calibrate_verb(CLI::App& app);
void add_simulate_verb(CLI::App& app);
void add_explain_verb(CLI::App& app);
void add_sbatch_verb(CLI::App& app);
void add_completion_verb(CLI::App& app);

}  // namespace lockstep
