"""upsweep spmv, solve and pagerank, as a user runs them, against dense NumPy."""

import json
import os
import unittest

import numpy as np

from cli_case import CliTest

GRID = 20  # nodes along a side of the grid


def grid_entries(side):
    """The 5-point Laplacian as (row, column, value), counted from 0."""
    entries = []
    for y in range(side):
        for x in range(side):
            node = y * side + x
            entries.append((node, node, 4.0))
            for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                if 0 <= x + dx < side and 0 <= y + dy < side:
                    entries.append((node, node + dy * side + dx, -1.0))
    return entries


def dense(entries, rows, columns):
    matrix = np.zeros((rows, columns))
    for row, column, value in entries:
        matrix[row, column] += value
    return matrix


class SparseTest(CliTest):
    def matrix_file(self, entries, rows, columns, name="A.mtx", field="real", symmetry="general"):
        path = self.path(name)
        with open(path, "w") as file:
            file.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n% made by a test\n")
            file.write(f"{rows} {columns} {len(entries)}\n")
            for row, column, value in entries:
                file.write(f"{row + 1} {column + 1}" + (f" {value!r}\n" if field == "real" else "\n"))
        return path

    def random_entries(self, rows, columns, count, seed=1):
        random = np.random.default_rng(seed)
        return [(int(r), int(c), float(v)) for r, c, v in
                zip(random.integers(0, rows, count), random.integers(0, columns, count), random.normal(size=count))]


    def refused(self, expected, *arguments):
        self.assert_refused(2, expected, *arguments, "-q")

    def assert_absent(self, path):
        self.assertFalse(os.path.exists(path))


class Spmv(SparseTest):
    def test_every_format_gives_the_dense_product(self):
        entries = self.random_entries(70, 50, 400)  # with duplicates
        x = np.random.default_rng(2).normal(size=50)
        expected = dense(entries, 70, 50) @ x
        matrix = self.matrix_file(entries, 70, 50)
        for name in ("auto", "csr", "ell", "sell", "coo", "hybrid"):
            out = self.path("y.npy")
            self.output_of("spmv", matrix, self.save(x), "-o", out, "--format", name)
            y = np.load(out)
            self.assertEqual((y.dtype, y.shape), (np.dtype("f4"), (70,)))
            np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5, err_msg=name)

    def test_blocks(self):
        entries = grid_entries(9)
        x = np.random.default_rng(3).normal(size=81)
        for options in ((), ("--block-size", 4, "--most-growth", 4), ("--values", "f16")):
            out = self.path("y.npy")
            self.output_of("spmv", self.matrix_file(entries, 81, 81), self.save(x), "-o", out, "--format", "bell", *options)
            np.testing.assert_allclose(np.load(out), dense(entries, 81, 81) @ x, atol=1e-5)

    def test_without_x_rows_are_summed(self):
        entries = self.random_entries(9, 7, 30)
        out = self.path("y.npy")
        self.output_of("spmv", self.matrix_file(entries, 9, 7), "-o", out)
        np.testing.assert_allclose(np.load(out), dense(entries, 9, 7).sum(axis=1), atol=1e-5)

    def test_published_products(self):
        full = [(r, c, 1.0) for r in range(4) for c in range(r + 1)]
        skew = [(1, 0, 1.0), (2, 0, 2.0), (2, 1, 3.0)]
        for entries, size, symmetry, expected in ((full, 4, "symmetric", [4, 4, 4, 4]),
                                                  (skew, 3, "skew-symmetric", [-3, -2, 5]),
                                                  ([(0, 0, 1.0), (0, 0, 2.0)], 1, "general", [3])):
            out = self.path("y.npy")
            self.output_of("spmv", self.matrix_file(entries, size, size, symmetry=symmetry), "-o", out)
            np.testing.assert_array_equal(np.load(out), expected)

    def test_patterns_and_empty_matrices(self):
        entries = [(0, 1, 1.0), (2, 2, 1.0), (2, 0, 1.0), (2, 0, 1.0)]  # twice in one place
        out = self.path("y.npy")
        for name in ("auto", "csr", "ell", "sell", "coo", "hybrid"):
            self.output_of("spmv", self.matrix_file(entries, 3, 3, field="pattern"), "-o", out, "--format", name,
                           "--most-growth", 50)
            np.testing.assert_array_equal(np.load(out), [1, 0, 3], name)
        for rows, columns in ((4, 4), (0, 0), (0, 3), (3, 0)):
            self.output_of("spmv", self.matrix_file([], rows, columns), "-o", out)
            np.testing.assert_array_equal(np.load(out), np.zeros(rows))

    def test_times_as_json(self):
        matrix = self.matrix_file(grid_entries(GRID), GRID**2, GRID**2)
        result = json.loads(self.output_of("spmv", matrix, "--repeat", 3, "--json"))
        self.assertEqual((result["rows"], result["entries"]), (400, len(grid_entries(GRID))))
        for name in ("product_seconds", "gflop_per_s", "gb_per_s", "copy_gb_per_s", "analysis_seconds"):
            self.assertGreater(result[name], 0, name)

    def test_what_is_refused(self):
        matrix = self.matrix_file([(0, 0, 1.0)], 2, 3)
        self.refused("needs --output", "spmv", matrix)
        self.refused("item 1 of X is 1e+300, beyond f4", "spmv", matrix, self.save(np.array([0, 1e300, 0])), "-o",
                     self.path("y.npy"))
        self.refused("--block-size goes with --format bell", "spmv", matrix, "--block-size", 2, "--repeat", 1)
        self.refused("X has 2 items; the matrix needs 3", "spmv", matrix, self.save(np.zeros(2)), "-o", self.path("y.npy"))
        self.refused("A.mtx:4: ", "spmv", self.matrix_file([(2, 0, 1.0)], 2, 3), "-o", self.path("y.npy"))
        one_long_row = [(0, c, 1.0) for c in range(1000)] + [(r, 0, 1.0) for r in range(1, 1000)]
        self.refused("hybrid", "spmv", self.matrix_file(one_long_row, 1000, 1000), "--format", "ell", "-o",
                     self.path("y.npy"))


class Solve(SparseTest):
    def test_a_grid(self):
        matrix = self.matrix_file(grid_entries(GRID), GRID**2, GRID**2)
        b = np.random.default_rng(4).normal(size=GRID**2)
        expected = np.linalg.solve(dense(grid_entries(GRID), GRID**2, GRID**2), b)
        for options in ((), ("--preconditioner", "none"), ("--tol", "1e-12")):
            out = self.path("x.npy")
            self.output_of("solve", matrix, self.save(b), "-o", out, *options)
            x = np.load(out)
            self.assertEqual(x.dtype, np.dtype("f8"))
            tolerance = 1e-9 if "1e-12" in options else 1e-3
            np.testing.assert_allclose(x, expected, atol=tolerance * np.abs(expected).max())

    def test_what_cannot_be_solved_says_why_and_writes_nothing(self):
        out = self.path("x.npy")
        cases = (([(0, 1, 1.0), (0, 0, 2.0), (1, 1, 2.0)], "symmetric"),
                 ([(0, 0, 1.0), (1, 1, -1.0)], "positive definite"))
        for entries, words in cases:
            self.refused(words, "solve", self.matrix_file(entries, 2, 2), self.save(np.ones(2)), "-o", out)
            self.assert_absent(out)
        self.refused("item 1 of B is nan", "solve", self.matrix_file([(0, 0, 1.0), (1, 1, 1.0)], 2, 2),
                     self.save(np.array([1, np.nan])), "-o", out)
        self.refused("square", "solve", self.matrix_file([], 2, 3), self.save(np.ones(2)), "-o", out)
        hard = self.matrix_file(grid_entries(GRID), GRID**2, GRID**2)
        self.refused("not solved", "solve", hard, self.save(np.arange(GRID**2.0)), "-o", out, "--max-iter", 2)
        self.assert_absent(out)


class Pagerank(SparseTest):
    def test_against_a_dense_iteration(self):
        random = np.random.default_rng(5)
        n = 60
        entries = [(int(i), int(j), 1.0) for i, j in random.integers(0, n, (200, 2)) if i % 7 != 0]  # some dangle
        weights = dense(entries, n, n)
        out_weights = weights.sum(axis=1)
        ranks = np.full(n, 1 / n)
        for _ in range(300):
            share = np.divide(ranks, out_weights, out=np.zeros(n), where=out_weights > 0)
            ranks = 0.85 * (weights.T @ share + ranks[out_weights == 0].sum() / n) + 0.15 / n
        out = self.path("r.npy")
        printed = self.output_of("pagerank", self.matrix_file(entries, n, n), "-o", out, "--top", 3)
        np.testing.assert_allclose(np.load(out), ranks, atol=2e-6)
        self.assertAlmostEqual(np.load(out).sum(), 1, places=6)
        self.assertEqual([int(line.split()[0]) for line in printed.splitlines()][0], int(np.argmax(ranks)) + 1)


if __name__ == "__main__":
    unittest.main()
