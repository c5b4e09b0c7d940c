#!/usr/bin/python3
"""What bench/validate.py makes of cases: run as a test."""

import importlib.util
import pathlib
import sys
import unittest

path = pathlib.Path(__file__).resolve().parents[2] / "bench" / "validate.py"
sys.path.insert(0, str(path.parent))
spec = importlib.util.spec_from_file_location("validate", path)
validate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(validate)


def case(predicted, measured, **more):
    return {"name": "n", "batch": 8, "strategy": "all-reduce", "backend": "mpi", "ranks": 2,
            "predicted_step_seconds": predicted, "step_seconds_low": predicted * 0.9,
            "step_seconds_high": predicted * 1.1, "measured_step_seconds": measured,
            "predicted_undisturbed_step_seconds": predicted / 2, "measured_undisturbed_step_seconds": measured / 2,
            "out_of_sample": True, "disturbed": False} | more


class ValidationPage(unittest.TestCase):
    def test_medians_are_compared_with_medians_and_undisturbed_with_undisturbed(self):
        one = validate.of_rounds([case(1.0, 0.8, measured_undisturbed_step_seconds=0.5)])
        self.assertAlmostEqual(one["error"], 0.25)
        self.assertAlmostEqual(one["undisturbed_error"], 0)

    def test_a_disturbed_round_counts_only_where_there_is_no_other(self):
        disturbed, quiet = case(9.0, 1.0, disturbed=True), case(1.0, 1.0)
        self.assertEqual(validate.of_rounds([disturbed, quiet])["predicted_step_seconds"], 1.0)
        self.assertFalse(validate.of_rounds([disturbed, quiet])["disturbed"])
        self.assertTrue(validate.of_rounds([disturbed])["disturbed"])

    def test_the_share_within_the_band_and_its_width_are_reported(self):
        cases = [validate.of_rounds([case(1.0, measured)]) for measured in (1.0, 1.05, 0.95, 1.2)]
        self.assertIn("75% of the measured medians are within", validate.summary(cases))
        self.assertIn("a median of 10%", validate.summary(cases))

    def test_disturbed_cases_are_counted_but_do_not_count(self):
        cases = [validate.of_rounds([case(1.0, 1.0)]), validate.of_rounds([case(5.0, 1.0, disturbed=True)])]
        self.assertIn("1 cases (1 more", validate.summary(cases))
        self.assertIn("largest 0.0%", validate.summary(cases))

    def test_the_headline_is_about_cases_out_of_sample(self):
        cases = [validate.of_rounds([case(1.10, 1.0)]),
                 validate.of_rounds([case(1.0, 1.0, ranks=1, out_of_sample=False)])]
        page = validate.page_of(cases)
        self.assertIn("**Out of sample**: 1 cases. Median steps: median error 10.0%", page)
        inside = page[page.index("## Steps that calibration measured itself"):]
        self.assertIn("median error 0.0%", inside)

    def test_networks_that_are_no_presets_are_among_the_cases(self):
        self.assertGreaterEqual(len(validate.NETWORKS), 2)


if __name__ == "__main__":
    unittest.main()
