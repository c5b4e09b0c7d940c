#pragma once

// Lockstep as a library: train on one or many ranks, predict scaling on a cluster, run a study.
//
//   #include <lockstep/lockstep.h>
//   auto config = lockstep::find_config("cnn-690k", {"train.epochs=1", "parallel.ranks=2"});
//   auto trained = lockstep::train(config);
//
// Errors are exceptions: lockstep::UserError (the input is wrong) and lockstep::Failure (something
// went wrong at run time). Messages can be shown to users.

// ---- Configuration ------------------------------------------------------------------------------
// find_config("preset or file", {"key=value", ...}) -> RunConfig; presets()
#include "config/presets.h"

// ---- Training -----------------------------------------------------------------------------------
// train(config, TrainOptions) -> TrainedRun with a Summary and a run folder
// Observer: is notified of steps and epochs while a training runs
// load_run(folder) -> SavedRun: the trained network; evaluate(...), run_forward(...)
#include "job/training.h"
#include "train/evaluator.h"
#include "train/record/run_folder.h"

// ---- Custom layers and strategies ---------------------------------------------------------------
// Layer, Kernel and add_layer(form, make); Strategy, StrategyEntry and add_strategy(entry)
#include "nn/registry.h"
#include "parallel/strategy.h"

// ---- Prediction ---------------------------------------------------------------------------------
// make_predictor(config, CostSource, "cluster or file", SimulateOptions, Say) -> Predictor
// place_point(config, cluster, ranks, nodes, oversubscribe) -> SimulatedPoint
// Predictor::predict(point) -> Prediction; sweep(...), validate(...)
#include "sim/predictor.h"
#include "sim/sweep.h"
#include "sim/validation.h"

// ---- Studies and reports ------------------------------------------------------------------------
// parse_study(find_study("name or file"), ...) -> Study; run_study(...); collect_results(...);
// write_results(...); write_report(...)
#include "study/output/report_file.h"
#include "study/output/tables.h"
#include "study/results/results.h"
#include "study/runner.h"
#include "study/shipped_studies.h"
