#!/usr/bin/env python3
"""Tests of compare.py. Run: python3 compare_test.py"""

import contextlib
import io
import json
import os
import tempfile
import unittest

import compare


def result(method="call", median=1.0, **changes):
    entry = {
        "primitive": "reduce", "operator": "sum", "type": "u32", "step": "library",
        "items": 1 << 20, "method": method, "samples": 15, "median_ms": median,
        "min_ms": median * 0.9, "max_ms": median * 1.2, "bytes_moved": 4 << 20,
        "gb_per_s": 4.0, "correct": True,
    }
    entry.update(changes)
    return entry


def report(*results, **changes):
    entry = {
        "schema": "upsweep-bench-1", "program": "upsweep", "version": "1",
        "device": {"name": "GPU", "driver": "1.2", "backend": "Vulkan"}, "date": "2026-01-02",
        "copy": {"bytes": 8 << 20, "median_ms": 2.0, "gb_per_s": 4.2},
        "read": {"bytes": 8 << 20, "median_ms": 1.0, "gb_per_s": 8.4},
        "results": list(results),
    }
    entry.update(changes)
    return entry


def only_row(ours, peer):
    joined, _, _ = compare.tables(ours, peer)
    (rows,) = joined.values()
    (row,) = rows
    return dict(zip(compare.HEADER, row))


def run_main(ours, peer, *options):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, content in (("ours.json", ours), ("peer.json", peer)):
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(content if isinstance(content, str) else json.dumps(content))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = compare.main([*paths, *options])
        return status, out.getvalue(), err.getvalue()


class JoinTest(unittest.TestCase):
    def test_ratio_is_peer_over_ours(self):
        row = only_row(report(result(median=0.5)), report(result(median=1.0)))
        self.assertEqual(row["ratio"], "2.000")
        self.assertEqual(row["items"], "2^20")
        self.assertEqual(row["ours ms"], "0.50000")
        self.assertEqual(row["ours min..max"], "0.45000..0.60000")

    def test_shares_use_own_rates(self):
        peer = report(result(median=1.0), copy={"bytes": 8 << 20, "median_ms": 8.0})
        row = only_row(report(result(median=1.0)), peer)
        self.assertEqual(row["ours/copy"], "100.0%")
        self.assertEqual(row["ours/read"], "50.0%")
        self.assertEqual(row["peer/copy"], "400.0%")

    def test_share_is_absent_without_reference(self):
        ours = report(result(), read=None)
        del ours["copy"]
        row = only_row(ours, report(result()))
        self.assertEqual((row["ours/copy"], row["ours/read"]), ("-", "-"))

    def test_amortised_meets_the_better_of_amortised_and_graph(self):
        ours = report(result("amortised", 1.0))
        graph_wins = only_row(ours, report(result("amortised", 3.0), result("graph", 2.0)))
        self.assertEqual((graph_wins["ratio"], graph_wins["peer by"]), ("2.000", "graph/library"))
        graph_loses = only_row(ours, report(result("amortised", 3.0), result("graph", 4.0)))
        self.assertEqual(graph_loses["ratio"], "3.000")

    def test_call_never_meets_amortised(self):
        joined, only_ours, only_peer = compare.tables(
            report(result("call")), report(result("graph")))
        self.assertEqual(joined, {})
        self.assertEqual((len(only_ours), len(only_peer)), (1, 1))

    def test_best_step_represents_a_side(self):
        ours = report(result(median=2.0, step="a"), result(median=1.0, step="b"))
        self.assertEqual(only_row(ours, report(result()))["ours by"], "call/b")

    def test_the_host_represents_nobody(self):
        ours = report(result(median=2.0), result(median=0.1, step="cpu"),
                      result(median=0.1, step="cpu_threads"))
        self.assertEqual(only_row(ours, report(result()))["ours by"], "call/library")

    def test_types_and_sizes_stay_apart_and_sizes_ascend(self):
        entries = [result(items=n, type=t) for t in ("u32", "f32") for n in (1000, 64, 1 << 20)]
        joined, _, _ = compare.tables(report(*entries), report(*entries))
        self.assertEqual(len(joined), 2)
        for rows in joined.values():
            self.assertEqual([row[0] for row in rows], ["64", "1000", "2^20"])

    def test_primitives_and_operators_stay_apart(self):
        names = [("scan", "exclusive_sum"), ("scan", "inclusive_sum_by_key"), ("unique", "runs_of_4"),
                 ("run_length", "runs_of_4")]
        ours = [result(primitive=p, operator=o, median=1.0 + i) for i, (p, o) in enumerate(names)]
        peer = [result(primitive=p, operator=o, median=2.0) for p, o in names]
        joined, only_ours, only_peer = compare.tables(report(*ours), report(*peer))
        self.assertEqual(sorted(key[:2] for key in joined), sorted(names))
        self.assertEqual((only_ours, only_peer), ([], []))
        for i, (primitive, operator) in enumerate(names):
            ((row,),) = [rows for key, rows in joined.items() if key[:2] == (primitive, operator)]
            self.assertEqual(row[compare.HEADER.index("ratio")], f"{2.0 / (1.0 + i):.3f}")

    def test_zero_median_is_not_a_measurement(self):
        row = only_row(report(result(median=0.0)), report(result()))
        self.assertEqual((row["ours ms"], row["ratio"]), ("-", "-"))


class IncorrectTest(unittest.TestCase):
    def test_incorrect_result_never_represents_a_side(self):
        ours = report(result(median=0.1, correct=False, step="a"), result(median=1.0, step="b"))
        self.assertEqual(only_row(ours, report(result()))["ours by"], "call/b")

    def test_incorrect_result_exits_1_and_shows(self):
        for ours, peer in (
            (report(result(correct=False)), report(result())),
            (report(result()), report(result(correct=False))),
            (report(result()), report(result(), result("graph", correct=False))),
            (report(result(correct=None)), report(result())),
        ):
            status, out, err = run_main(ours, peer)
            self.assertEqual(status, 1)
            self.assertIn("INCORRECT", out)
            self.assertIn("1 INCORRECT", err)


class MainTest(unittest.TestCase):
    def test_plain_table(self):
        status, out, err = run_main(report(result()), report(result(median=2.0)))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("reduce sum u32", out)
        self.assertNotIn("|", out)
        self.assertNotIn("WARNING", out)

    def test_markdown_rows_have_every_column(self):
        _, out, _ = run_main(report(result()), report(result()), "--markdown")
        piped = [line for line in out.splitlines() if line.startswith("|")]
        self.assertEqual(len(piped), 3)
        for line in piped:
            self.assertEqual(line.count("|"), len(compare.HEADER) + 1)

    def test_other_device_is_a_warning(self):
        peer = report(result(), device={"name": "Other", "driver": "1.2"})
        status, out, _ = run_main(report(result()), peer)
        self.assertEqual(status, 0)
        self.assertIn("WARNING: device name differs", out)

    def test_unusable_reports_exit_2(self):
        good = report(result())
        lacking = result()
        del lacking["correct"]
        for bad in ("not json", "[]", report(schema="other"), report(lacking),
                    report(result("typo")), report(result(items=7)), report(results={})):
            status, out, err = run_main(good, bad)
            self.assertEqual((status, out), (2, ""))
            self.assertTrue(err.startswith("compare.py: "))


if __name__ == "__main__":
    unittest.main()
