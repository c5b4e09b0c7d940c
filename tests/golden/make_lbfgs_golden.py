#!/usr/bin/env python3
"""Iterates of SciPy's L-BFGS-B, unconstrained, for tests/optim/lbfgs_test.cpp: python3 make_lbfgs_golden.py"""
import pathlib
import numpy
import scipy.optimize


def rosenbrock(n):
    return numpy.tile([-1.2, 1.0], n // 2), scipy.optimize.rosen, scipy.optimize.rosen_der


def quartic(n):
    scale = numpy.arange(1, n + 1)
    return numpy.ones(n), lambda x: numpy.sum(scale * x**2 / 2 + x**4 / 4), lambda x: scale * x + x**3


lines = [f"scipy {scipy.__version__}"]
for name, n, history in [("rosenbrock", 10, 10), ("rosenbrock", 4, 3), ("quartic", 20, 5)]:
    start, loss, gradient = {"rosenbrock": rosenbrock, "quartic": quartic}[name](n)
    iterates = [start]
    scipy.optimize.minimize(loss, start, jac=gradient, method="L-BFGS-B", callback=lambda x: iterates.append(x.copy()),
                            options={"maxcor": history, "ftol": 0, "gtol": 1e-6})
    lines.append(f"{name} {n} {history} {len(iterates)}")
    lines += [" ".join(f"{value:.17g}" for value in x) for x in iterates]
pathlib.Path(__file__).with_name("lbfgs-iterates.txt").write_text("\n".join(lines) + "\n")


def iris_minimum(decay):
    """The lowest mean cross entropy of a linear classifier, with weight decay, on all of Iris, standardised."""
    rows = [line.split(",") for line in (pathlib.Path(__file__).parents[2] / "data/iris.csv").read_text().splitlines()]
    rows = [row for row in rows if row[0].replace(".", "").isdigit()]
    names = sorted({row[-1] for row in rows})
    x = numpy.array([[float(v) for v in row[:4]] for row in rows])
    x = (x - x.mean(0)) / x.std(0)
    x = numpy.hstack([x, numpy.ones((len(x), 1))])
    y = numpy.eye(3)[[names.index(row[-1]) for row in rows]]

    def loss(w):
        z = x @ w.reshape(5, 3)
        z -= z.max(1, keepdims=True)
        log_p = z - numpy.log(numpy.exp(z).sum(1, keepdims=True))
        gradient = x.T @ (numpy.exp(log_p) - y) / len(x) + decay * w.reshape(5, 3)
        return -(y * log_p).sum() / len(x) + decay / 2 * w @ w, gradient.ravel()

    found = scipy.optimize.minimize(loss, numpy.zeros(15), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-10, "maxiter": 10000})
    return found.fun, found.fun - decay / 2 * found.x @ found.x


print("iris, weight decay 0.01: minimum, and cross entropy there:", *iris_minimum(0.01))
