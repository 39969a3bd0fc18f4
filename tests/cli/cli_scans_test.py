"""The commands that are scans underneath (scan, select, unique, rle), as a user runs them, against NumPy and
itertools.
"""

import itertools
import json
import os
import re
import signal
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cli_case import DTYPES, PROGRAM, CliTest, is_defined, random_items

ACCUMULATE = {
    "sum": np.cumsum, "product": np.cumprod, "min": np.minimum.accumulate, "max": np.maximum.accumulate,
    "and": np.bitwise_and.accumulate, "or": np.bitwise_or.accumulate, "xor": np.bitwise_xor.accumulate,
    "any": lambda items: np.logical_or.accumulate(items).astype(bool),
    "all": lambda items: np.logical_and.accumulate(items).astype(bool),
    "argmin": lambda items: np.array([np.argmin(items[:i + 1]) for i in range(len(items))], dtype="i8"),
    "argmax": lambda items: np.array([np.argmax(items[:i + 1]) for i in range(len(items))], dtype="i8"),
}


def bits(array):
    """The items as words, so that NaN and signs of zero compare."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def with_runs(dtype, count, seed=3):
    """Few values in runs of one to six."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, count)
    values = rng.integers(0, 3, count)
    return np.repeat(values, lengths)[:count].astype(dtype)


def grouped(items):
    """First index and length of each run; NaN equals NaN, -0 equals +0."""
    def key(at):
        value = items[at]
        return "nan" if value != value else value + items.dtype.type(0)

    groups = [list(group) for _, group in itertools.groupby(range(len(items)), key)]
    return (np.array([group[0] for group in groups], dtype="i8"),
            np.array([len(group) for group in groups], dtype="i8"))


class ScansTest(CliTest):
    def assert_same(self, written, expected, message=""):
        """Equal type, shape and bits."""
        self.assertEqual((written.dtype, written.shape), (expected.dtype, expected.shape), message)
        np.testing.assert_array_equal(bits(written), bits(expected), message)

    def loaded(self, name="out.npy"):
        return np.load(self.path(name))

    def many(self, check, cases):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda case: check(*case), cases))


class Scan(ScansTest):
    def scan(self, items, *options, name="scan"):
        """The written results; what was printed is in self.printed."""
        out = self.path(f"{name}.out.npy")
        self.printed = self.output_of("scan", *options, "-o", out, self.save(items, f"{name}.npy"))
        return np.load(out)

    def assert_close_sums(self, written, items, message):
        """Prefix sums of f4 and f2: within the bound of a tree in f32, then one rounding to the type."""
        exact = np.cumsum(items.astype("f8"))
        bound = 80 * 2.0**-24 * np.cumsum(np.abs(items.astype("f8")))
        if items.dtype == np.float16:
            bound += np.abs(exact) * 2.0**-11 + 2.0**-25
        self.assertEqual((written.dtype, written.shape), (items.dtype, exact.shape), message)
        error = np.abs(written.astype("f8") - exact)
        self.assertTrue(np.all(error <= bound), f"{message}: off by {np.max(error - bound)}")

    def check(self, op, items, *options):
        message = f"{op} of {items.dtype} {options}"
        written = self.scan(items, "--op", op, *options, name=f"{op}-{items.dtype}")
        if op == "sum" and items.dtype.kind == "f":
            self.assert_close_sums(written, items, message)
        else:
            self.assert_same(written, ACCUMULATE[op](items), message)

    def test_equals_numpy_for_every_type_and_operator(self):
        cases = []
        for dtype in DTYPES:
            items = random_items(dtype, 3001)
            for op in ACCUMULATE:
                if not is_defined(op, dtype):
                    continue
                used = items
                if op == "product" and dtype[0] == "f":
                    # Powers of two: exact, whatever the order.
                    used = np.array(2.0 ** np.random.default_rng(5).integers(-1, 2, 21), dtype=dtype)
                cases.append((op, used))
        self.assertEqual(len(cases), 12 * 11 - 3 * 3 - 2)
        self.many(self.check, cases)

    def test_is_right_for_many_tiles(self):
        for dtype in ("u4", "f4", "i8", "u1"):
            self.check("sum", random_items(dtype, 400_003))
        self.check("max", random_items("f4", 400_003))

    def test_exclusive_results_begin_with_the_identity(self):
        identities = {("sum", "u1"): 0, ("sum", "f4"): 0, ("product", "i2"): 1, ("min", "u1"): 255,
                      ("min", "f8"): np.inf, ("max", "f2"): -np.inf, ("max", "i4"): -2**31, ("and", "u8"): 2**64 - 1,
                      ("xor", "i1"): 0, ("any", "f8"): False, ("all", "u2"): True, ("argmin", "f4"): -1,
                      ("argmax", "i8"): -1}
        for (op, dtype), identity in identities.items():
            items = random_items(dtype, 600) if (op, dtype) != ("sum", "f4") else np.arange(600, dtype="f4")
            inclusive = ACCUMULATE[op](items)
            expected = np.concatenate([np.array([identity]).astype(inclusive.dtype), inclusive[:-1]])
            self.assert_same(self.scan(items, "--op", op, "--exclusive"), expected, f"{op} of {dtype}")

    def test_reverse_is_the_scan_of_the_reversed_array(self):
        for dtype, op in (("u1", "sum"), ("f4", "min"), ("i8", "xor"), ("f8", "max")):
            items = random_items(dtype, 5001)
            self.assert_same(self.scan(items, "--op", op, "--reverse"), ACCUMULATE[op](items[::-1])[::-1])
        items = np.arange(1, 5002, dtype="u2")
        expected = np.concatenate([np.cumsum(items[::-1])[-2::-1], np.array([0], "u8")])
        self.assert_same(self.scan(items, "--reverse", "--exclusive"), expected)

    def test_scans_rows(self):
        for shape in ((7, 33), (3, 5000), (2, 3, 5), (4, 0), (0, 4), (6, 1), (5,)):
            for dtype in ("u1", "i8", "b1"):
                items = random_items(dtype, int(np.prod(shape))).reshape(shape)
                self.assert_same(self.scan(items, "--rows"), np.cumsum(items, axis=-1), f"{dtype} {shape}")
                self.assert_same(self.scan(items, "--rows", "--op", "max", "--reverse"),
                                 np.maximum.accumulate(items[..., ::-1], axis=-1)[..., ::-1], f"{dtype} {shape}")
        items = random_items("f8", 60).reshape(3, 20)
        expected = np.array([ACCUMULATE["argmin"](row) for row in items])
        self.assert_same(self.scan(items, "--rows", "--op", "argmin"), expected)

    def test_flattens_arrays_as_cumsum_does(self):
        for items in (random_items("i4", 60).reshape(3, 4, 5), np.array(7, dtype="u2"), np.zeros((0, 3), "f4"),
                      np.zeros((3, 0), "b1"), np.array([], "f8")):
            self.assert_same(self.scan(items, "--op", "max"), np.maximum.accumulate(items.ravel()))
        self.assert_same(self.scan(np.array(7, dtype="u2")), np.cumsum(np.array(7, dtype="u2")))

    def test_prints_totals(self):
        self.scan(np.arange(10, dtype="u1"), "--total", "--exclusive")
        self.assertEqual(self.printed, "45\n")
        self.scan(np.arange(10, dtype="u1"))
        self.assertEqual(self.printed, "")
        self.scan(np.arange(12, dtype="i4").reshape(3, 4), "--total", "--rows", "--init", "-100")
        self.assertEqual(self.printed, "-94\n-78\n-62\n")
        self.scan(np.array([], "f4"), "--total", "--op", "min")
        self.assertEqual(self.printed, "inf\n")
        self.scan(np.zeros((3, 0), "u4"), "--total", "--rows", "--init", "5")
        self.assertEqual(self.printed, "5\n5\n5\n")
        self.scan(np.array([1, np.nan], "f2"), "--total", "--op", "max", "--reverse")
        self.assertEqual(self.printed, "nan\n")
        self.scan(np.array([2.0, 1.0]), "--total", "--op", "min")
        self.assertEqual(self.printed, "1.0\n")
        self.scan(np.array([2.0, 1.0]), "--total", "--op", "argmin")
        self.assertEqual(self.printed, "1\n")

    def test_folds_init_in_front_of_everything(self):
        items = random_items("i2", 3000)
        self.assert_same(self.scan(items, "--init", "-1000"), np.cumsum(items) - 1000)
        exclusive = np.concatenate([[0], np.cumsum(items)[:-1]]) - 1000
        self.assert_same(self.scan(items, "--init", "-1000", "--exclusive"), exclusive)
        self.assert_same(self.scan(np.array([1.0, 9.0]), "--op", "max", "--init", "2.5"), np.array([2.5, 9.0]))
        self.assert_same(self.scan(np.array([0, 0, 3]), "--op", "any", "--init", "true", "--exclusive"),
                         np.array([True, True, True]))

    def test_transforms_and_casts_items_first(self):
        items = np.arange(5000, dtype="u2")
        self.assert_same(self.scan(items, "--transform", "x * x"), np.cumsum(items.astype("u8") ** 2))
        self.assert_same(self.scan(items, "--transform", "select(0u, 1u, i % 3u == 0u)"),
                         np.cumsum((np.arange(5000) % 3 == 0).astype("u8")))
        floats = random_items("f8", 1000)
        self.assert_close_sums(self.scan(floats, "--cast", "f4"), floats.astype("f4"), "cast")

    def test_runs_an_operator_of_the_users_in_order(self):
        with open(self.path("second.wgsl"), "w") as file:
            # Bits 0 to 15: the last non-zero item. It is associative, and the order matters.
            file.write("fn last(a: u32, b: u32) -> u32 { return select(b, a, b == 0u); }\n")
        items = random_items("u2", 20_000) * (np.random.default_rng(9).integers(0, 4, 20_000) == 0).astype("u2")
        last = np.maximum.accumulate(np.where(items != 0, np.arange(20_000), 0))
        options = ["--op-wgsl", self.path("second.wgsl"), "--op-name", "last", "--identity", "0u"]
        self.assert_same(self.scan(items, *options), items[last].astype("u4"))

    def test_propagates_nan_and_keeps_infinities(self):
        nan, inf = np.nan, np.inf
        for dtype in ("f2", "f4", "f8"):
            for values in ([1, nan, -inf], [inf, -inf, inf], [3, -2, 5, -2, 5]):
                items = np.array(values, dtype=dtype)
                for op in ("min", "max", "argmin", "argmax", "any", "all"):
                    np.testing.assert_array_equal(self.scan(items, "--op", op), ACCUMULATE[op](items))

    def test_reads_big_endian_files_and_standard_input(self):
        items = random_items("i4", 1000)
        self.assert_same(self.scan(items.astype(">i4")), np.cumsum(items))
        # As a ufunc's, the results are in the machine's byte order.
        self.assert_same(self.scan(items.astype(">i4"), "--op", "max"), np.maximum.accumulate(items.astype(">i4")))
        with open(self.save(items), "rb") as file:
            self.output_of("scan", "-", "-o", self.path("out.npy"), stdin=file)
        self.assert_same(self.loaded(), np.cumsum(items))

    def test_writes_to_standard_output(self):
        path = self.save(np.arange(4, dtype="u4"))
        done = subprocess.run([PROGRAM, "scan", path, "-o", "/dev/stdout"], capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with open(self.path("out.npy"), "wb") as file:
            file.write(done.stdout)
        self.assert_same(self.loaded(), np.cumsum(np.arange(4, dtype="u4")))

    def test_replaces_an_older_result(self):
        items = random_items("f4", 100_000)
        path = self.save(items)
        older = self.save(np.zeros(3), "out.npy")
        self.output_of("scan", "--op", "max", path, "-o", older)
        self.assert_same(np.load(older), np.maximum.accumulate(items))
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["items.npy", "out.npy"])

    def test_other_paths_give_the_same(self):
        items = random_items("u4", 100_003)
        for options in (["--limits", "minimum"], ["--no-subgroups"], ["--limits", "minimum", "--no-subgroups"]):
            self.assert_same(self.scan(items, *options), np.cumsum(items, dtype="u8"), f"{options}")

    def test_float_sums_have_the_same_bits_in_every_run(self):
        items = random_items("f4", 300_000)
        first = self.scan(items)
        for _ in range(3):
            self.assert_same(self.scan(items), first)

    def test_json_has_totals_type_and_time(self):
        self.scan(np.full(3, 2**62, dtype="u8"), "--json", "--total")
        done = json.loads(self.printed)
        self.assertEqual((done["op"], done["total"], done["dtype"], done["items"]), ("sum", 3 * 2**62, "u8", 3))
        self.assertGreater(done["seconds"], 0)
        self.scan(np.eye(2, 3), "--json", "--total", "--rows", "--op", "max")
        self.assertEqual(json.loads(self.printed)["totals"], [1.0, 1.0])
        self.scan(np.eye(2, 3), "--json", "--op", "any")
        self.assertNotIn("total", json.loads(self.printed))


class Select(ScansTest):
    def check(self, items, where, mask, *options):
        name = f"{items.dtype}-{where}".replace("/", "_")
        out, at = self.path(f"{name}.out.npy"), self.path(f"{name}.at.npy")
        path = self.save(items, f"{name}.npy")
        self.output_of("select", "--where", where, path, "-o", out, "--indices", at, *options)
        message = f"{where} of {items.dtype} {items.shape} {options}"
        self.assert_same(np.load(out), items.ravel()[mask.ravel()], message)
        self.assert_same(np.load(at), np.flatnonzero(mask).astype("i8"), message)

    def test_equals_numpy_for_every_type(self):
        cases = []
        for dtype in DTYPES:
            items = random_items(dtype, 5003)
            if dtype in ("u8", "i8"):
                cases.append((items, "x.x % 3u == 0u", items.view("u8").astype("u4") % 3 == 0))
            elif dtype == "f8":
                cases.append((items, "x > 0.5", items.astype("f4") > 0.5, "--cast", "f4"))
            elif dtype[0] == "f":
                cases.append((items, "x > 0.5", items > 0.5))
            else:
                cases.append((items, "x > 17" if dtype != "b1" else "x != 0", items > (17 if dtype != "b1" else 0)))
        self.assertEqual(len(cases), 12)
        self.many(self.check, cases)

    def test_shows_how_64_bit_items_are_compared(self):
        small = np.arange(-500, 500, dtype="i8")
        self.check(small, "i32(x.x) > 5", small > 5)
        self.check(small, "x.y >= 0x80000000u", small < 0)
        out = self.path("kept.npy")
        for dtype, way in (("i8", "i32(x.x) is the item"), ("u8", ": x.x is the item")):
            path = self.save(np.arange(9, dtype=dtype), f"{dtype}.npy")
            self.assert_refused(2, way, "select", "--where", "x > 5", path, "-o", out)

    def test_keeps_all_none_or_few(self):
        items = random_items("f4", 40_001)
        self.check(items, "true", np.ones(40_001, bool))
        self.check(items, "false", np.zeros(40_001, bool))
        self.check(items, "x > 1.0 // a comment", items > 1)
        self.check(items, "i == 40000u || i == 3u", np.isin(np.arange(40_001), [3, 40_000]))
        self.check(items, "i % 2u == 1u", np.arange(40_001) % 2 == 1)

    def test_flattens_arrays_and_takes_empty_ones(self):
        self.check(random_items("u1", 60).reshape(3, 4, 5), "i < 7u", np.arange(60) < 7)
        self.check(np.array(5, dtype="i4"), "x == 5", np.array([True]))
        self.check(np.array([], dtype="u2"), "x == 5u", np.array([], bool))
        self.check(np.zeros((3, 0), dtype="f4"), "x == 5.0", np.array([], bool))

    def test_keeps_the_bits_of_items(self):
        u2 = np.array([0x7e01, 0xfe55, 0x8000, 1, 0x3c00], dtype="u2").view("f2")
        u4 = np.array([0x7fc01234, 0xffc00001, 0x80000000, 1, 0x3f800000], dtype="u4").view("f4")
        u8 = np.array([0x7ff8000000001234, 1 << 63, 1, 2, 3], dtype="u8").view("f8")
        mask = np.array([True, True, True, True, False])
        self.check(u2, "i < 4u", mask)
        self.check(u4, "i < 4u", mask)
        self.check(u8, "i < 4u", mask, "--cast", "f4")
        self.check(np.array([2, 0, 1, 255, 0], dtype="u1").view(bool), "i < 4u", mask)

    def test_writes_either_file_alone(self):
        items = random_items("i4", 1000)
        path = self.save(items)
        self.output_of("select", "--where", "x > 0", path, "-o", self.path("out.npy"))
        self.assert_same(self.loaded(), items[items > 0])
        self.output_of("select", "--where", "x > 0", path, "--indices", self.path("at.npy"))
        self.assert_same(self.loaded("at.npy"), np.flatnonzero(items > 0))
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["at.npy", "items.npy", "out.npy"])

    def test_reads_big_endian_files_and_other_paths(self):
        items = random_items("i4", 3000)
        self.check(items.astype(">i4"), "x > 0", items > 0)
        self.check(items.astype(">i4").astype(">i2"), "x > 0", items.astype("i2") > 0)
        self.check(items.astype(">f4"), "x > 0.0", items > 0)
        self.check(items.astype(">f8"), "x > 0.0", items > 0, "--cast", "f4")
        for options in (["--limits", "minimum"], ["--no-subgroups"]):
            self.check(items, "x > 0", items > 0, *options)

    def test_json_has_the_count(self):
        done = json.loads(self.output_of("select", "--where", "x > 0.5", self.save(np.arange(4, dtype="f4")), "--json",
                                         "-o", self.path("out.npy")))
        self.assertEqual((done["items"], done["selected"], done["dtype"]), (4, 3, "f4"))


class Runs(ScansTest):
    def check_unique(self, items, *options):
        name = f"unique-{items.dtype}"
        out, at = self.path(f"{name}.out.npy"), self.path(f"{name}.at.npy")
        self.output_of("unique", self.save(items, f"{name}.npy"), "-o", out, "--indices", at, *options)
        native = items.astype(items.dtype.newbyteorder("=")).ravel()
        starts, _ = grouped(native)
        self.assert_same(np.load(out), items.ravel()[starts], f"{items.dtype} {items.shape}")
        self.assert_same(np.load(at), starts, f"{items.dtype} {items.shape}")

    def check_rle(self, items, *options):
        name = f"rle-{items.dtype}"
        files = {option: self.path(f"{name}.{option}.npy") for option in ("values", "lengths", "offsets")}
        arguments = [word for option, path in files.items() for word in ("--" + option, path)]
        self.output_of("rle", self.save(items, f"{name}.npy"), *arguments, *options)
        native = items.astype(items.dtype.newbyteorder("=")).ravel()
        starts, lengths = grouped(native)
        if "--only-repeated" in options:
            starts, lengths = starts[lengths > 1], lengths[lengths > 1]
        message = f"{items.dtype} {items.shape} {options}"
        self.assert_same(np.load(files["values"]), items.ravel()[starts], message)
        self.assert_same(np.load(files["lengths"]), lengths, message)
        self.assert_same(np.load(files["offsets"]), starts, message)

    def check(self, items):
        self.check_unique(items)
        self.check_rle(items)
        self.check_rle(items, "--only-repeated")

    def test_equals_itertools_for_every_type(self):
        self.many(self.check, [(with_runs(dtype, 4001),) for dtype in DTYPES])

    def test_extreme_runs_of_many_tiles(self):
        self.check(np.zeros(50_001, dtype="u4"))
        self.check(np.arange(50_001, dtype="f4"))
        self.check(with_runs("u1", 50_001))
        self.check(np.repeat(np.arange(5, dtype="i8"), 10_000))

    def test_nan_equals_nan_and_zeros_are_equal(self):
        for dtype in ("f2", "f4", "f8"):
            items = np.array([np.nan, -np.nan, 0.0, -0.0, 1, -0.0, 0.0, np.inf, np.nan], dtype=dtype)
            payload = items.view(f"u{items.itemsize}")
            payload[1] += 1
            self.check(items)

    def test_sorted_items_give_what_numpy_unique_gives(self):
        items = np.sort(random_items("u1", 5000))
        self.output_of("unique", self.save(items), "-o", self.path("out.npy"))
        self.assert_same(self.loaded(), np.unique(items))

    def test_runs_give_the_array_back(self):
        items = with_runs("i2", 3000)
        self.output_of("rle", self.save(items), "--values", self.path("v.npy"), "--lengths", self.path("l.npy"))
        self.assert_same(np.repeat(self.loaded("v.npy"), self.loaded("l.npy")), items)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["items.npy", "l.npy", "v.npy"])

    def test_takes_empty_single_and_shaped_arrays(self):
        for items in (np.array([], "f4"), np.array([], "u1"), np.zeros((2, 0), "f8"), np.array(3, "i8"),
                      with_runs("u2", 60).reshape(3, 4, 5), *(with_runs(dtype[1:], 60).astype(dtype)
                                                              for dtype in (">i4", ">u2", ">f8", ">i8"))):
            self.check(items)

    def test_other_paths_give_the_same(self):
        items = with_runs("u4", 20_003)
        for options in (["--limits", "minimum"], ["--no-subgroups"]):
            self.check_unique(items, *options)
            self.check_rle(items, *options)

    def test_json_has_the_number_of_runs(self):
        path = self.save(np.array([1, 1, 2, 2, 2, 7], "u4"))
        done = json.loads(self.output_of("unique", path, "-o", self.path("out.npy"), "--json"))
        self.assertEqual((done["items"], done["runs"], done["dtype"]), (6, 3, "u4"))
        done = json.loads(self.output_of("rle", path, "--lengths", self.path("l.npy"), "--json", "--only-repeated"))
        self.assertEqual((done["items"], done["runs"]), (6, 2))


class Refusals(ScansTest):
    def setUp(self):
        super().setUp()
        self.good = self.save(np.arange(10, dtype="f4"), "good.npy")
        self.out = self.path("out.npy")

    def assert_only(self, *names):
        self.assertEqual(sorted(os.listdir(self.folder.name)), sorted(names))

    def test_missing_and_damaged_files(self):
        with open(self.good, "rb") as file:
            data = file.read()
        with open(self.path("bad.npy"), "wb") as file:
            file.write(data[:-1])
        for command in (["scan", "-o", self.out], ["select", "--where", "true", "-o", self.out],
                        ["unique", "-o", self.out], ["rle", "--values", self.out]):
            self.assert_refused(2, "missing.npy: ", *command, self.path("missing.npy"))
            self.assert_refused(2, "bad.npy: ", *command, self.path("bad.npy"))
            self.assert_refused(2, "Fortran", *command, self.save(np.asfortranarray(np.ones((3, 4)))))
            self.assert_refused(2, "c8", *command, self.save(np.ones(3, dtype="c8")))
        self.assert_only("good.npy", "bad.npy", "items.npy")

    def test_types_that_a_command_cannot_take(self):
        f8 = self.save(np.ones(3), "f8.npy")
        self.assert_refused(2, "--cast f4", "scan", "-o", self.out, f8)
        self.assert_refused(2, "--cast f4", "scan", "--op", "min", "--transform", "x", "-o", self.out, f8)
        self.assert_refused(2, "--cast f4", "select", "--where", "x > 0", "-o", self.out, f8)
        self.assert_refused(2, "bits of integers", "scan", "--op", "xor", "-o", self.out, self.good)
        self.assert_refused(2, "no 64-bit integers", "scan", "--transform", "x", "-o", self.out,
                            self.save(np.ones(3, "u8")))
        self.assert_refused(2, "dimension", "scan", "--rows", "-o", self.out, self.save(np.array(1.0, "f4")))
        self.assert_refused(2, "index", "scan", "--op", "argmin", "--init", "1", "-o", self.out, self.good)
        self.assert_refused(2, "--init", "scan", "--op", "max", "--init", "300", "-o", self.out,
                            self.save(np.ones(3, "u1")))
        self.assert_refused(2, "--init", "scan", "--init", "blue", "-o", self.out, self.good)
        self.assert_refused(2, "--init 1e39: not a value of f4", "scan", "--init", "1e39", "-o", self.out, self.good)
        self.assertFalse(os.path.exists(self.out))

    def test_expressions_that_do_not_compile_are_named_in_short(self):
        def refused(expected, where, path):
            done = self.run_program("select", "--where", where, "-o", self.out, path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r'\Aupsweep: --where "' + re.escape(where) + '": ' + expected + r"[^\n]*\n\Z")
            self.assertLess(len(done.stderr), 250 + len(where))
            self.assertNotIn("Kernel", done.stderr)

        refused("unresolved value 'nonsense'", "x > nonsense", self.good)
        refused("", "x >", self.good)
        refused("", "x + 1.0", self.good)
        refused("", "x > 0.5); let y = (x", self.good)
        refused("", "x > 5", self.save(np.arange(3, dtype="i8")))
        refused("unresolved", "nonsense // a comment", self.good)
        self.assert_refused(2, "vec2u", "select", "--where", "x > 5", "-o", self.out, self.path("items.npy"))
        booleans = self.save(np.ones(3, bool))
        self.assert_refused(2, "x of b1 items is a u32, 0 or 1", "select", "--where", "x", "-o", self.out, booleans)
        self.assert_refused(2, '--transform "x + nonsense": unresolved', "scan", "--transform", "x + nonsense", "-o",
                            self.out, self.good)
        for dump in ([], ["--dump"]):
            for option, command in (("--where", ["select"]), ("--transform", ["scan"]), ("--transform", ["reduce"]),
                                    ("--where", ["partition"]), ("--second", ["partition", "--where", "x > 5"])):
                self.assert_refused(2, f"upsweep: {option} \"nonsense\": unresolved ", "explain", *command, option,
                                    "nonsense", "--items", "5", *dump)
        for wrong in ("x > 5; return true", "(x > 5", "x > 5 }"):
            self.assert_refused(2, f'--where "{wrong}": ', "select", "--where", wrong, "-o", self.out, self.good)
            self.assert_refused(2, f'--second "{wrong}": ', "explain", "partition", "--where", "true", "--second", wrong,
                                "--items", "5", "--traits", "minimum")
        # Without a device nobody compiles it.
        self.output_of("explain", "select", "--where", "nonsense", "--items", "5", "--traits", "minimum")
        self.assert_only("good.npy", "items.npy")

    def test_long_words_are_cut_short_in_errors(self):
        words = " || ".join(f"x == {n}.0" for n in range(3000)) + " || \u00e9"
        short = f"{words[:200]}... ({len(words) - 200} more characters)"
        commands = {f'--where "{short}": ': ["select", "--where", words, "-o", self.out, self.good],
                    f'--transform "{short}": ': ["reduce", f"--transform={words}", self.good],
                    f"--init {short}: not a value of f4": ["scan", "--init", words, "-o", self.out, self.good],
                    f'"{short}"; there are u32': ["explain", "scan", "--items", 5, "--type", words],
                    f'"{short}" is no count': ["explain", "scan", "--items", words],
                    f"{short} not in ": ["explain", "sort", "--items", 5, "--path", words],
                    f'no command "{short}"': [words]}
        for expected, command in commands.items():
            done = self.run_program(*command)
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr[:1000])
            self.assertLess(len(done.stderr), 600)
        # A letter of two bytes is kept or left out whole.
        letters = "\u00e9" * 150
        self.assert_refused(2, f'"{letters[:100]}... (50 more characters)"', "bench", letters)
        self.assert_refused(2, f'"{"x" + letters[:99]}... (51 more characters)"', "bench", "x" + letters)

    def test_mistakes_in_operators_are_the_users(self):
        with open(self.path("op.wgsl"), "w") as file:
            file.write("fn broken(a: f32, b: f32) -> f32 { return c; }")
        self.assert_refused(2, 'operator "broken":1', "scan", "--op-wgsl", self.path("op.wgsl"), "--op-name", "broken",
                            "--identity", "0.0", "-o", self.out, self.good)
        self.assert_refused(2, "no operator", "scan", "--op", "median", "-o", self.out, self.good)

    def test_usage_errors_name_the_argument(self):
        self.assert_refused(2, "--output", "scan", self.good)
        self.assert_refused(2, "file", "scan", "-o", self.out)
        self.assert_refused(2, "--output", "unique", self.good)
        self.assert_refused(2, "--where", "select", self.good, "-o", self.out)
        self.assert_refused(2, "--where is empty", "select", "--where", "", self.good, "-o", self.out)
        self.assert_refused(2, "--where is empty", "explain", "select", "--where", "", "--items", 5)
        self.assert_refused(2, "--transform is empty", "explain", "scan", "--transform", "", "--items", 5)
        for option in ("--init", "--transform"):
            self.assert_refused(2, f"{option} is empty", "scan", option, "", self.good, "-o", self.out)
        self.assert_refused(2, "--output or --indices", "select", "--where", "true", self.good)
        self.assert_refused(2, "--values, --lengths or --offsets", "rle", self.good)
        self.assert_refused(2, "--inclusive", "scan", "--inclusive", "--exclusive", self.good, "-o", self.out)
        self.assert_refused(2, "second.npy", "scan", self.good, "second.npy", "-o", self.out)
        self.assert_refused(2, "--axis", "scan", self.good, "-o", self.out, "--axis", "0")
        self.assert_refused(2, "--output: the name of the file is empty", "scan", self.good, "-o", "")
        self.assert_refused(2, "--cast", "select", "--where", "true", "--cast", "i4", self.good, "-o", self.out)
        self.assert_only("good.npy")

    def test_unknown_commands_list_those_that_there_are(self):
        names = "info, reduce, scan, select, unique, rle, histogram, sort, argsort, topk, spmv, solve, pagerank, explain, bench"
        self.assert_refused(2, f'there is no command "nosuch"; commands are: {names}', "nosuch", self.good)
        # Not the fault of its options.
        self.assert_refused(2, 'there is no command "scann"', "scann", self.good, "-o", self.out)
        self.assert_refused(2, 'there is no command "explain nosuch"', "explain", "nosuch", "--items", "3")
        self.assert_refused(2, 'there is no option "--nosuch"', "--nosuch", "scan", self.good, "-o", self.out)
        self.assert_refused(2, names, "--adapter", "x")
        self.assert_refused(2, names)
        self.assert_refused(2, '"explain nosuch"; commands are: explain reduce, explain scan', "explain", "nosuch")
        self.assert_refused(2, "explain rle", "explain")

    def test_outputs_that_cannot_be_are_refused_before_the_work(self):
        self.assert_refused(2, "No such file", "scan", self.good, "-o", self.path("no/folder.npy"))
        self.assert_refused(2, "", "scan", self.good, "-o", self.folder.name)
        same = ["rle", self.good, "--values", self.out, "--lengths"]
        self.assert_refused(2, "--values and --lengths name the same file", *same, self.out)
        self.assert_refused(2, "same file", *same, os.path.join(self.folder.name, ".", "out.npy"))
        self.assert_refused(2, "same file", *same[:-2], "new.npy", same[-1], "./new.npy", cwd=self.folder.name)
        self.assert_refused(2, "same file", "select", "--where", "true", self.good, "-o", self.out, "--indices",
                            self.out)
        self.assert_refused(2, "No such file", *same, self.path("no/folder.npy"))
        self.assert_only("good.npy")
        self.output_of("rle", self.good, "--values", "/dev/null", "--lengths", "/dev/null")

    def test_a_failed_run_leaves_the_old_file(self):
        np.save(self.out, np.arange(3))
        self.assert_refused(2, "--where", "select", "--where", "nonsense", "-o", self.out, self.good)
        self.assert_refused(2, "--transform", "scan", "--transform", "nonsense", "-o", self.out, self.good)
        self.assert_refused(2, "would overwrite", "select", "--where", "true", "-o", self.good, self.good)
        np.testing.assert_array_equal(np.load(self.out), np.arange(3))
        np.testing.assert_array_equal(np.load(self.good), np.arange(10, dtype="f4"))
        self.assert_only("good.npy", "out.npy")

    def test_arrays_larger_than_the_devices_buffers_are_refused(self):
        # A hole in a file takes no room on the disk.
        count = (1 << 28) // 4 + 1024
        np.lib.format.open_memmap(self.path("large.npy"), "w+", "u4", (count,)).flush()
        for command in (["scan", "--op", "max", "-o", self.out], ["select", "--where", "true", "-o", self.out],
                        ["unique", "-o", self.out], ["rle", "--lengths", self.out]):
            self.assert_refused(2, str(4 * count), *command, self.path("large.npy"), "--limits", "minimum")
            self.assert_refused(2, "large.npy: ", *command, self.path("large.npy"), "--limits", "minimum")
        self.assert_only("good.npy", "large.npy")

    def test_a_run_that_fails_while_it_writes_leaves_no_file(self):
        path = self.save(with_runs("u4", 100_000))
        for command in (["scan", path, "-o", "/dev/full"],
                        ["select", "--where", "true", path, "-o", self.out, "--indices", "/dev/full"],
                        ["unique", path, "-o", self.out, "--indices", "/dev/full"],
                        ["rle", path, "--values", self.out, "--lengths", "/dev/full"],
                        ["rle", path, "--values", "/dev/full", "--offsets", self.out]):
            self.assert_refused(2, "/dev/full: cannot write: ", *command)
            self.assert_only("good.npy", "items.npy")

    def test_a_run_that_is_killed_while_it_writes_leaves_no_file(self):
        path = self.save(np.arange(100_000, dtype="u4"))
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        command = [PROGRAM, "rle", path, "--values", self.out, "--lengths", pipe]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            with open(pipe, "rb") as reader:
                self.assertEqual(reader.read(6), b"\x93NUMPY")
                self.assert_only("good.npy", "items.npy", "pipe")
            # More than a pipe holds is still to be written.
            output, error = run.communicate(timeout=300)
        self.assertEqual((run.returncode, output, error), (-signal.SIGPIPE, "", ""))
        self.assert_only("good.npy", "items.npy", "pipe")


class Explain(ScansTest):
    SUBJECTS = {"scan": [], "select": ["--where", "all(x == x)"], "unique": [], "rle": [], "reduce_by_key": []}

    def test_help_has_examples(self):
        for command in (["scan"], ["select"], ["unique"], ["rle"], ["explain", "partition"],
                        *(["explain", name] for name in self.SUBJECTS)):
            self.assertIn("Examples:\n  upsweep ", self.output_of(*command, "--help"))

    def test_prints_passes_and_bytes(self):
        cases = [(name, options) for name in self.SUBJECTS
                 for options in (["--items", "0"], ["--items", "1000"], ["--items", "2^24", "--type", "u32"],
                                 ["--items", "1e6", "--device-count"], ["--items", "2^20", "--limits", "minimum"],
                                 ["--items", "2^20", "--path", "two-pass"], ["--items", "3000", "--type", "u64"])]
        cases += [("scan", ["--items", "100", "--rows", "5000"]), ("scan", ["--items", "1e5", "--in-place", "--total"]),
                  ("scan", ["--items", "1e5", "--op", "argmin", "--reverse", "--exclusive", "--run-to-run"]),
                  ("select", ["--items", "1e5", "--indices", "--dispatch-threads", "64"]),
                  ("unique", ["--items", "1e5", "--indices"]),
                  ("rle", ["--items", "1e5", "--offsets", "--only-repeated"]),
                  ("reduce_by_key", ["--items", "1e5", "--keys", "u8", "--op", "argmin", "--run-to-run"])]
        for name, options in cases:
            text = self.output_of("explain", name, *self.SUBJECTS[name], *options)
            self.assertRegex(text, r"\Aplan \w+: \d+ pass")
            bound, moved, least = re.search(r"moves (at most )?(\d+) bytes; (\d+) must move", text).groups()
            self.assertGreaterEqual(int(moved), int(least), f"{name} {options}")
            # How much is kept is not known before.
            self.assertEqual(bound is not None, name != "scan", f"{name} {options}")
            if name != "scan":
                self.assertNotIn("times the least", text)
            elif least != "0":
                self.assertIn("times the least", text)

    def test_needs_no_device_for_minimum_traits(self):
        environment = dict(os.environ, VK_DRIVER_FILES=self.path("no_driver.json"))
        for name, more in self.SUBJECTS.items():
            text = self.output_of("explain", name, *more, "--items", "2^24", "--traits", "minimum", "--wgsl",
                                  env=environment)
            self.assertIn("@compute", text)

    def test_dumps_what_goes_in_and_what_comes_out(self):
        digits = [(i * 7 + 3) % 10 for i in range(10)]
        for arguments, expected in (
                (["scan", "--items", "5", "--type", "u32"], ["output = [3, 3, 10, 14, 15]"]),
                (["scan", "--items", "5", "--type", "i32", "--exclusive", "--total", "--in-place"],
                 ["output = [3, 0, 7, 4, 1]", "output = [0, 3, 3, 10, 14]", "total = [15]"]),
                (["scan", "--items", "3", "--rows", "2", "--op", "argmax", "--device-count"],
                 ["output = [0, 0, 2, 0, 0, 2]"]),
                (["select", "--items", "10", "--where", "x > 5", "--indices"],
                 [f"output = [{', '.join(f'{d}.0' for d in digits if d > 5)}]", "count = [4]",
                  f"indices = [{', '.join(str(i) for i, d in enumerate(digits) if d > 5)}]"]),
                (["select", "--items", "1000", "--where", "x == 3u", "--type", "u32", "--dispatch-threads", "64"],
                 ["count = [100]", "dispatch_arguments = [2, 1, 1]"]),
                (["unique", "--items", "7", "--type", "u64", "--indices"],
                 ["output = [3, 0, 7]", "indices = [0, 3, 6]", "count = [3]"]),
                (["rle", "--items", "7", "--offsets", "--type", "u32"],
                 ["values = [3, 0, 7]", "lengths = [3, 3, 1]", "offsets = [0, 3, 6]", "count = [3]"]),
                (["rle", "--items", "7", "--only-repeated", "--type", "u32"], ["values = [3, 0]", "count = [2]"]),
                (["reduce_by_key", "--items", "7", "--type", "i32"],
                 ["keys = [3, 3, 3, 0, 0, 0, 7]", "unique_keys = [3, 0, 7]", "output = [10, 13, 5]", "count = [3]"]),
                (["reduce_by_key", "--items", "7", "--op", "max", "--keys", "i8", "--device-count"],
                 ["unique_keys = [3, 0, 7]", "output = [7.0, 8.0, 5.0]"]),
                (["partition", "--items", "10", "--where", "x > 5 // large", "--type", "i4"],
                 [f"output = [{', '.join(map(str, sorted(digits, key=lambda d: d <= 5)))}]", "count = [4]"]),
                (["partition", "--items", "10", "--where", "x > 5", "--second", "x < 3", "--type", "i4"],
                 [f"output = [{', '.join(map(str, sorted(digits, key=lambda d: 0 if d > 5 else 1 if d < 3 else 2)))}]",
                  "count = [4, 3]"])):
            lines = self.output_of("explain", *arguments, "--dump").splitlines()
            for line in expected:
                self.assertIn(line, lines, f"{arguments}")

    def test_dumps_the_scratch_of_a_two_pass_scan(self):
        text = self.output_of("explain", "scan", "--items", "50000", "--type", "u32", "--path", "two-pass", "--total",
                              "--dump")
        partials = re.search(r"after pass 0 \(\w+\): partials = \[([^\]]*)\]", text).group(1)
        total = re.search(r"^total = \[(\d+)\]$", text, re.MULTILINE).group(1)
        self.assertEqual(int(total), sum((i * 7 + 3) % 10 for i in range(50_000)))
        self.assertLessEqual(int(partials.split(", ")[0]), int(total))
        self.assertGreater(len(partials.split(", ")), 1)

    def test_impossible_plans_are_refused(self):
        self.assert_refused(2, "items", "explain", "scan")
        self.assert_refused(2, "--where", "explain", "select", "--items", "3")
        self.assert_refused(2, "--where", "explain", "partition", "--items", "3")
        self.assert_refused(2, "No single pass", "explain", "partition", "--where", "true", "--items", "3", "--path",
                            "single-pass")
        self.assert_refused(2, "u5", "explain", "reduce_by_key", "--items", "3", "--keys", "u5")
        self.assert_refused(2, "no count", "explain", "unique", "--items", "-3")
        self.assert_refused(2, "4294967294", "explain", "scan", "--items", "1e11")
        self.assert_refused(2, "4294967294", "explain", "select", "--where", "true", "--items", "1e11")
        self.assert_refused(2, "u32x", "explain", "rle", "--items", "3", "--type", "u32x")
        self.assert_refused(2, "rows", "explain", "scan", "--items", "1e6", "--rows", "1e6")
        self.assert_refused(2, "--dump", "explain", "unique", "--items", "2^30", "--dump")
        self.assert_refused(2, "--dump", "explain", "scan", "--items", "2", "--dump", "--traits", "minimum")
        self.assert_refused(2, "--path", "explain", "scan", "--items", "2", "--path", "scenic")


if __name__ == "__main__":
    unittest.main()
