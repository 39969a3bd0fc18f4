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
            for name in ("auto", "csr", "ell", "sell", "bell", "coo", "hybrid"):
                done = self.run_program("spmv", self.matrix_file([], rows, columns), "-o", out, "--format", name)
                self.assertEqual(done.returncode, 0, done.stderr)
                np.testing.assert_array_equal(np.load(out), np.zeros(rows))
                self.assertIn(" coo of " if name == "coo" else " csr of ", done.stderr)
                if name in ("ell", "sell", "bell", "hybrid"):
                    self.assertIn(f"there is nothing to store as {name}", done.stderr)

    def test_a_hybrid_without_a_rest_is_ell_and_says_so(self):
        done = self.run_program("spmv", self.matrix_file([(0, 1, 1.0), (2, 2, 1.0)], 3, 3), "-o", self.path("y.npy"), "--format",
                                "hybrid")
        self.assertIn(" ell of f32", done.stderr)
        self.assertIn("no row has a second entry for the rest of a hybrid", done.stderr)

    def test_times_are_printed_though_the_rest_is_not(self):
        matrix = self.matrix_file(grid_entries(5), 25, 25)
        done = self.run_program("spmv", matrix, "--repeat", 2, "-q")
        self.assertRegex(done.stdout, r" us a product, .* GFLOP/s, .* GB/s \(\d+ % of copying at ")
        self.assertEqual(done.stderr, "")

    def test_what_cannot_be_timed_is_said(self):
        self.assertIn("there is nothing to time", self.output_of("spmv", self.matrix_file([], 0, 3), "--repeat", "1e1"))

    def test_times_as_json(self):
        matrix = self.matrix_file(grid_entries(GRID), GRID**2, GRID**2)
        result = json.loads(self.output_of("spmv", matrix, "--repeat", 3, "--json"))
        self.assertEqual((result["rows"], result["entries"]), (400, len(grid_entries(GRID))))
        for name in ("product_seconds", "gflop_per_s", "gb_per_s", "copy_gb_per_s", "analysis_seconds"):
            self.assertGreater(result[name], 0, name)

    def test_what_is_refused(self):
        matrix = self.matrix_file([(0, 0, 1.0)], 2, 3)
        self.refused("needs --output", "spmv", matrix)
        self.refused("x: the name of the file is empty", "spmv", matrix, "", "-o", self.path("y.npy"))
        self.refused("--output: the name of the file is empty", "spmv", matrix, "-o", "")
        self.refused("item 1 of X, counted from 0, is 1e+300, beyond f4", "spmv", matrix, self.save(np.array([0, 1e300, 0])), "-o",
                     self.path("y.npy"))
        self.refused("--block-size goes with --format bell", "spmv", matrix, "--block-size", 2, "--repeat", 1)
        self.refused("X has 2 items; the matrix needs one vector of 3", "spmv", matrix, self.save(np.zeros(2)), "-o", self.path("y.npy"))
        self.refused("A.mtx:4: ", "spmv", self.matrix_file([(2, 0, 1.0)], 2, 3), "-o", self.path("y.npy"))

    def test_formats_that_grow_are_refused_in_the_words_of_options(self):
        one_long_row = [(0, c, 1.0) for c in range(1000)] + [(r, 0, 1.0) for r in range(1, 1000)]
        matrix = self.matrix_file(one_long_row, 1000, 1000)
        for name, others in (("ell", "use hybrid, sell or csr, or allow more"), ("sell", "use hybrid or csr, or allow more"),
                             ("bell", "use csr, or smaller blocks, or allow more")):
            more = ("--block-size", 16) if name == "bell" else ()
            self.refused(f"where --most-growth allows 3 times: {others}", "spmv", matrix, "--format", name, "-o",
                         self.path("y.npy"), *more)
            self.refused(f" {name} of f32", "spmv", matrix, "--format", name, "-o", self.path("y.npy"), *more)
        done = self.run_program("spmv", self.matrix_file(grid_entries(9), 81, 81), "--format", "sell", "-o", self.path("y.npy"))
        self.assertIn(" sell of f32", done.stderr)

    def test_sizes_of_a_header_take_no_memory(self):
        for rows, columns in ((4294967295, 4294967295), (3, 4294967295), (4294967295, 3)):
            matrix = self.matrix_file([(0, 0, 1.0)], rows, columns)
            out = self.path("y.npy")
            commands = [("spmv", matrix, "-o", out), ("explain", "spmv", matrix), ("explain", "spmv", matrix, "--traits", "minimum"),
                        ("bench", "spmv", "--matrix-file", matrix)]
            if rows == columns:
                commands.append(("pagerank", matrix, "-o", out))
            for command in commands:
                self.assert_refused(2, "a vector takes 17179869184 bytes", *command)
            self.assert_absent(out)

    def test_places_in_messages_say_from_where_they_count(self):
        matrix = self.matrix_file([(0, 1, 1.0), (2, 1, -1e300)], 3, 3)
        self.refused("The entry in row 2, column 1 is -1e+300, beyond the range of f32 (+-3.4028234663852886e+38); rows and "
                     "columns count from 0", "spmv", matrix, "-o", self.path("y.npy"))
        negative = self.matrix_file([(2, 1, -1.0)], 3, 3)
        self.refused("The edge from 2 to 1 has a weight of -1; nodes count from 0", "pagerank", negative, "-o",
                     self.path("y.npy"))
        self.refused("rows and columns count from 0", "solve", negative, self.save(np.ones(3)), "-o", self.path("y.npy"))


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
        self.refused("item 1 of B, counted from 0, is nan", "solve", self.matrix_file([(0, 0, 1.0), (1, 1, 1.0)], 2, 2),
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


class Explain(SparseTest):
    def explained(self, *arguments):
        return self.output_of("explain", "spmv", *arguments)

    def random_matrices(self):
        yield self.matrix_file(grid_entries(9), 81, 81)
        for seed, (rows, columns, count) in enumerate(((70, 50, 400), (1, 300, 250), (300, 1, 200), (5000, 40, 9000), (97, 97, 97))):
            for field in ("real", "pattern"):
                yield self.matrix_file(self.random_entries(rows, columns, count, seed), rows, columns, field=field)

    def test_a_file_is_analysed_and_its_format_explained(self):
        text = self.explained(self.matrix_file(grid_entries(GRID), GRID**2, GRID**2))
        for words in ("A.mtx: 400 x 400, 1920 entries, general", "rows by entries: 76 of 3 to 4, 324 of 5 to 8",
                      "longest row has 5 entries", "places in slices of 32 rows: ", "blocks: ", " of 2 x 2 (at most ",
                      "cost on the host's clock: ", " ms to analyse, ", "a product: ", "strategy: path rows", "plan spmv: 1 pass"):
            self.assertIn(words, text)

    def test_rows_are_counted_by_their_entries(self):
        lengths = [0, 1, 1, 2, 3, 4, 4, 5, 8, 9, 0, 0]
        entries = [(row, column, 1.0) for row, length in enumerate(lengths) for column in range(length)]
        text = self.explained(self.matrix_file(entries, len(lengths), 20), "--traits", "minimum")
        self.assertIn("rows by entries: 3 of 0, 2 of 1, 1 of 2, 3 of 3 to 4, 2 of 5 to 8, 1 of 9 to 16\n", text)

    def test_the_host_finds_what_the_device_finds(self):
        for matrix in self.random_matrices():
            for options in ((), ("--format", "sell", "--most-growth", 100), ("--format", "bell", "--block-size", 3, "--most-growth", 100)):
                def analysis(*more):
                    text = self.explained(matrix, *options, *more)
                    lines = text[:text.index("cost")].splitlines()
                    blocks = next(line for line in lines if line.startswith("blocks: "))
                    return [line for line in lines if line != blocks], blocks.removeprefix("blocks: ").split(", ")
                lines, blocks = analysis("--limits", "minimum")
                expected_lines, expected_blocks = analysis("--traits", "minimum")
                self.assertEqual(lines, expected_lines)
                if options:
                    self.assertEqual(blocks, expected_blocks)
                    continue
                # The device counts only those that could pay.
                blocks[-1], _, rest = blocks[-1].partition("; ")
                if len(blocks) < len(expected_blocks):
                    self.assertIn("would take more bytes than csr", rest or blocks.pop())
                self.assertLessEqual(set(blocks), set(expected_blocks))

    def test_every_format_is_planned_and_run(self):
        for name in ("csr", "ell", "sell", "bell", "coo", "hybrid"):
            text = self.explained("--rows", 6, "--entries", 12, "--columns", 5, "--format", name, "--dump", "--most-growth", 99)
            # Two entries a row, 1 to 9 over and over, beginning on the diagonal; x is 3, 0, 7, 4, 1.
            x = [3, 0, 7, 4, 1]
            expected = []
            for row in range(6):
                expected.append(sum(((2 * row + k) % 9 + 1) * x[(row + k) % 5] for k in range(2)))
            self.assertIn("y = [" + ", ".join(f"{value:.1f}" for value in expected) + "]", text.splitlines()[-1], name)
            self.assertIn(f" {'sliced_ell' if name == 'sell' else 'block_ell' if name == 'bell' else name} of f32", text)

    def test_a_file_is_run(self):
        entries = [(0, 1, 2.0), (2, 0, 3.0), (2, 1, -1.0)]
        text = self.explained(self.matrix_file(entries, 3, 2), "--dump", "--alpha", 2, "--beta", 1, "--format", "csr")
        self.assertEqual(text.splitlines()[-1], "y = [3.0, 0.0, 25.0]")  # x is 3, 0; y was 3, 0, 7
        self.assertNotIn("cost", text)

    def test_strategies(self):
        sizes = ("--rows", "1e6", "--entries", "5e6", "--traits", "minimum")
        self.assertIn(" spmv_merge ", self.explained(*sizes))
        known = self.explained(*sizes, "--longest-row", 5)
        self.assertIn("plan spmv: 1 pass", known)
        self.assertIn("path rows", known)
        self.assertNotIn(" spmv_merge ", known)
        self.assertIn(" spmv_merge ", self.explained(*sizes, "--longest-row", 5, "--path", "merge"))
        self.assertIn("plan spmv: 1 pass", self.explained(*sizes, "--vectors", 16, "--path", "rows"))
        uneven = [(0, c, 1.0) for c in range(3000)] + [(r, 0, 1.0) for r in range(1, 3000)]
        prepared = self.explained(self.matrix_file(uneven, 3000, 3000), "--format", "csr", "--path", "merge")
        self.assertIn("once, for many products:\nplan spmv", prepared)
        self.assertIn("and for each product:\nplan spmv", prepared)

    def test_empty_matrices(self):
        for rows, columns in ((0, 0), (3, 0), (0, 3), (4, 4)):
            matrix = self.matrix_file([], rows, columns)
            for options in ((), ("--traits", "minimum"), ("--dump",), ("--format", "ell")):
                self.assertIn("plan spmv", self.explained(matrix, *options))
            sizes = ("--rows", rows, "--columns", columns, "--entries", 0)
            for name in ("csr", "ell", "sell", "bell", "coo", "hybrid"):
                self.assertIn("plan spmv", self.explained(*sizes, "--format", name))

    def test_what_is_refused(self):
        matrix = self.matrix_file([(0, 0, 1.0)], 2, 3)
        for expected, arguments in (("needs a file, or --rows and --entries", ()),
                                    ("needs a file, or --rows and --entries", ("--rows", 5)),
                                    ("excludes", (matrix, "--rows", 5)),
                                    ("no place for them", ("--rows", 3, "--entries", 10)),
                                    ("no place for them", ("--rows", 0, "--entries", 1)),
                                    ("--longest-row 1: it has from 2", ("--rows", 5, "--entries", 10, "--longest-row", 1)),
                                    ("--longest-row 6: it has from 2 entries, the mean, to 5",
                                     ("--rows", 5, "--entries", 10, "--longest-row", 6)),
                                    ("--rows 3000000000: at most", ("--rows", "3e9", "--entries", 1)),
                                    ("--rows: \"x\" is no count", ("--rows", "x", "--entries", 1)),
                                    ("--block-size goes with", (matrix, "--block-size", 2)),
                                    ("--longest-row goes with --format csr",
                                     ("--rows", 5, "--entries", 10, "--longest-row", 3, "--format", "ell")),
                                    ("--path merge is for csr and coo, not for sell",
                                     ("--rows", 5, "--entries", 10, "--path", "merge", "--format", "sell")),
                                    ("--most-growth allows 3", (matrix, "--format", "bell", "--block-size", 16)),
                                    ("one binding", ("--rows", 2**28, "--entries", 2**28, "--traits", "minimum")),
                                    ("small inputs", ("--rows", "2^21", "--entries", 1, "--dump"))):
            self.assert_refused(2, expected, "explain", "spmv", *arguments)


class Bench(SparseTest):
    def test_matrices_of_files_are_measured(self):
        entries = self.random_entries(60, 40, 300)  # with duplicates
        matrix = self.matrix_file(entries, 60, 40)
        pattern = self.matrix_file(entries, 60, 40, "B,2.mtx", field="pattern")
        report = self.path("report.json")
        text = self.output_of("bench", "spmv", "--matrix-file", matrix, "--matrix-file", pattern, "--format", "csr,sell",
                              "--samples", 1, "--json", report)
        self.assertNotIn("WRONG", text)
        places = len({(row, column) for row, column, _ in entries})
        with open(report) as file:
            results = json.load(file)["results"]
        self.assertEqual({(r["operator"], r["step"], r["items"]) for r in results},
                         {(path, step, 60) for path in (matrix, pattern) for step in ("csr", "sell")})
        self.assertTrue(all(r["correct"] and r["flops"] == 2 * places for r in results))

    def test_the_ladder_takes_them_too(self):
        text = self.output_of("bench", "--ladder", "spmv", "--matrix-file", self.matrix_file(grid_entries(9), 81, 81),
                              "--samples", 1)
        self.assertIn("A.mtx of 81 f32 items (369 entries, at most 5 a row)", text)
        self.assertRegex(text, "CPU, one thread, (CSR of Eigen|a loop over CSR) ")
        self.assertRegex(text, "the library's choice: (csr|ell|sliced_ell|block_ell|hybrid) ")
        self.assertNotIn("WRONG", text)

    def test_what_is_refused(self):
        matrix = self.matrix_file([(0, 0, 1.0)], 2, 3)
        self.assert_refused(2, "a file goes with --matrix-file", "bench", "spmv", "--matrix", matrix)
        self.assert_refused(2, "reduce takes no matrices", "bench", "reduce", "--matrix-file", matrix)
        self.assert_refused(2, "No such file", "bench", "spmv", "--matrix-file", self.path("no.mtx"))
        self.assert_refused(2, "nothing to measure", "bench", "spmv", "--matrix-file", self.matrix_file([], 2, 3))
        self.assert_refused(2, "finite in f4", "bench", "spmv", "--matrix-file", self.matrix_file([(0, 0, 1e300)], 2, 3))


if __name__ == "__main__":
    unittest.main()
