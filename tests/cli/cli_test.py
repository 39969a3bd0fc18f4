"""Runs the upsweep program as a user does and compares it with NumPy."""

import json
import os
import re
import signal
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cli_case import ADAPTER, DTYPES, PROGRAM, CliTest, is_defined, random_items

OPERATORS = {
    "sum": np.sum, "product": np.prod, "min": np.min, "max": np.max,
    "and": np.bitwise_and.reduce, "or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
    "argmin": np.argmin, "argmax": np.argmax, "any": np.any, "all": np.all,
}


class Reduce(CliTest):
    def reduce(self, *arguments):
        return self.output_of("reduce", *arguments).removesuffix("\n")

    def assert_close_sum(self, text, items, axis=None):
        """f4 and f2 sums are tree sums in f32: within a few roundings of the exact sum of |x|, then one to the type."""
        exact = np.sum(items.astype("f8"), axis=axis)
        scale = np.sum(np.abs(items.astype("f8")), axis=axis)
        bound = 60 * 2.0**-24 * scale
        if items.dtype == np.float16:
            bound += np.abs(exact) * 2.0**-11
        # The fewest digits that tell an item from its neighbours are not the item's own value.
        value = np.array(text.split(), dtype=items.dtype).astype("f8").reshape(np.shape(exact))
        self.assertTrue(np.all(np.abs(value - exact) <= bound), f"{value} is not {exact} within {bound}")

    def check(self, op, items, path, *options):
        text = self.reduce("--op", op, *options, path)
        expected = OPERATORS[op](items)
        if op == "sum" and items.dtype.kind == "f":
            self.assert_close_sum(text, items)
        elif expected.dtype.kind == "f":
            np.testing.assert_equal(expected.dtype.type(text), expected, f"{op} of {items.dtype} {options}")
        else:
            self.assertEqual(text, str(expected), f"{op} of {items.dtype} {options}")

    def test_equals_numpy_for_every_type_and_operator(self):
        cases = []
        for dtype in DTYPES:
            items = random_items(dtype, 3001)
            for op in OPERATORS:
                if not is_defined(op, dtype):
                    continue
                used = items
                if op == "product" and dtype[0] == "f":
                    # Powers of two: exact, whatever the order.
                    used = np.array(2.0 ** np.random.default_rng(5).integers(-1, 2, 21), dtype=dtype)
                cases.append((op, used, self.save(used, f"{dtype}-{op}.npy")))
        self.assertEqual(len(cases), 12 * 11 - 3 * 3 - 2)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda case: self.check(*case), cases))

    def test_equals_numpy_when_the_array_goes_in_windows(self):
        cases = []
        for dtype in DTYPES:
            items = random_items(dtype, 1003, seed=2)
            path = self.save(items, f"{dtype}.npy")
            for op in ("sum", "min", "argmax", "all"):
                if is_defined(op, dtype):
                    cases.append((op, items, path, "--window-bytes", "400"))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda case: self.check(*case), cases))

    def test_wraps_integer_products_modulo_two_to_the_64(self):
        items = np.full(100, 3, dtype="u4")
        self.assertEqual(self.reduce("--op", "product", self.save(items)), str(pow(3, 100, 1 << 64)))
        self.assertEqual(self.reduce("--op", "product", "--window-bytes", "40", self.save(items)),
                         str(pow(3, 100, 1 << 64)))
        items = np.full(101, -3, dtype="i2")
        self.assertEqual(self.reduce("--op", "product", self.save(items)), str(np.prod(items)))

    def test_reads_a_file_of_more_than_two_default_windows(self):
        count = 35_000_000
        path = self.path("large.npy")
        array = np.lib.format.open_memmap(path, "w+", "u4", (count,))
        array[:] = np.arange(count, dtype="u4") * np.uint32(2654435761)
        array[count - 3] = 0xffffffff
        self.assertGreater(array.nbytes, 2 * (64 << 20))
        self.assertEqual(self.reduce("--op", "sum", path), str(np.sum(array)))
        self.assertEqual(self.reduce("--op", "xor", path), str(np.bitwise_xor.reduce(array)))
        self.assertEqual(self.reduce("--op", "argmax", path), str(np.argmax(array)))

    def test_is_right_for_sizes_around_the_window(self):
        for count in (1, 99, 100, 101, 200, 201):
            items = random_items("i4", count)
            path = self.save(items)
            for op in ("sum", "argmin"):
                self.check(op, items, path, "--window-bytes", "400")

    def test_keeps_nan_infinities_and_signs_of_floats(self):
        nan, inf = np.nan, np.inf
        for dtype in ("f2", "f4", "f8"):
            for values in ([1, nan, -inf], [inf] * 10, [-inf] * 10, [inf, nan, nan], [-0.0], [3, -2, 5, -2, 5]):
                items = np.array(values, dtype=dtype)
                path = self.save(items)
                for op in ("min", "max", "argmin", "argmax", "any", "all"):
                    for window in ("64", "16"):
                        self.check(op, items, path, "--window-bytes", window)

    def test_argmin_takes_the_first_of_equal_items_over_windows(self):
        items = np.zeros(50, dtype="f8")
        items[::3] = -0.0
        self.assertEqual(self.reduce("--op", "argmin", self.save(items), "--window-bytes", "64"), "0")
        self.assertEqual(self.reduce("--op", "argmax", self.save(items), "--window-bytes", "64"), "0")

    def test_f8_extrema_are_exact(self):
        items = np.array([1 + 2.0**-52, 1, 1e-320, 5e-324, 1.7976931348623157e308])
        self.assertEqual(self.reduce("--op", "min", self.save(items)), "5e-324")
        self.assertEqual(self.reduce("--op", "max", self.save(items)), "1.7976931348623157e+308")
        self.assertEqual(self.reduce("--op", "max", self.save(items[:2])), "1.0000000000000002")

    def test_empty_arrays_give_the_identity(self):
        identities = {
            ("sum", "f4"): "0.0", ("sum", "u1"): "0", ("product", "i4"): "1", ("product", "f2"): "1.0",
            ("min", "f4"): "inf", ("max", "f2"): "-inf", ("min", "f8"): "inf", ("max", "f8"): "-inf",
            ("min", "u1"): "255", ("max", "u2"): "0", ("min", "i1"): "127", ("max", "i2"): "-32768",
            ("min", "i8"): str(2**63 - 1), ("max", "i8"): str(-2**63), ("min", "u8"): str(2**64 - 1),
            ("min", "b1"): "True", ("and", "u1"): "255", ("and", "i8"): "-1", ("or", "u4"): "0",
            ("argmin", "f4"): "-1", ("argmax", "u8"): "-1", ("any", "f8"): "False", ("all", "i1"): "True",
        }
        for (op, dtype), expected in identities.items():
            path = self.save(np.array([], dtype=dtype))
            self.assertEqual(self.reduce("--op", op, path), expected, f"{op} of no {dtype}")
        self.assertEqual(self.reduce("--init", "7", self.save(np.array([], dtype="u4"))), "7")

    def test_reads_big_endian_files_and_single_items(self):
        for dtype in DTYPES:
            items = random_items(dtype, 1000).astype(np.dtype(dtype).newbyteorder(">"))
            self.check("max", items, self.save(items))
        self.assertEqual(self.reduce(self.save(np.array(-5, dtype="i4"))), "-5")
        self.assertEqual(self.reduce("--op", "argmax", self.save(np.array(1.5, dtype="f8"))), "0")

    def test_reads_all_format_versions(self):
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(self.path("v.npy"), "wb") as file:
                np.lib.format.write_array(file, np.arange(10, dtype="u2"), version=version)
            self.assertEqual(self.reduce(self.path("v.npy")), "45")

    def test_reads_standard_input(self):
        path = self.save(np.arange(10, dtype="f4"))
        with open(path, "rb") as file:
            done = subprocess.run(["sh", "-c", 'cat | "$0" reduce -', PROGRAM], stdin=file, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.returncode), ("45.0\n", 0))

    def test_prints_floats_with_the_fewest_digits_that_give_them_back(self):
        expected = {
            "f2": [(0.1, "0.1"), (1, "1.0"), (-2.5, "-2.5"), (1e-5, "1e-05"), (65504, "65500.0"), (6e-8, "6e-08"),
                   (1 / 3, "0.3333"), (2048, "2048.0"), (0.00012207, "0.0001221")],
            "f4": [(0.1, "0.1"), (1e-4, "1e-04"), (1.01e-4, "0.000101"), (9.9e-5, "9.9e-05"), (123456789, "123456790.0"), (1e16, "1e+16"),
                   (-1 / 3, "-0.33333334"), (3.4028235e38, "3.4028235e+38"), (16777216, "16777216.0")],
            "f8": [(0.1, "0.1"), (1e15, "1000000000000000.0"), (1e16, "1e+16"), (1 / 3, "0.3333333333333333"),
                   (5e-324, "5e-324"), (-0.0, "-0.0"), (123.456, "123.456")],
        }
        for dtype, cases in expected.items():
            for value, text in cases:
                self.assertEqual(self.reduce("--op", "max", self.save(np.array([value], dtype))), text)

    def test_rounds_f2_sums_once_at_the_end(self):
        items = np.full(10000, 0.1, dtype="f2")
        self.assertEqual(np.float16(self.reduce(self.save(items))), np.float16(np.sum(items.astype("f4"))))
        self.assertEqual(self.reduce(self.save(np.full(3, 60000, dtype="f2"))), "inf")
        self.assertEqual(self.reduce(self.save(np.array([65504, 15], dtype="f2"))), "65500.0")
        self.assertEqual(self.reduce(self.save(np.array([65504, 16], dtype="f2"))), "inf")

    def test_casts_f8_to_f4_on_request(self):
        items = random_items("f8", 1000)
        path = self.save(items)
        self.assert_close_sum(self.reduce("--cast", "f4", path), items.astype("f4"))
        self.assertEqual(self.reduce("--cast", "f4", "--op", "min", path), str(np.min(items.astype("f4"))))

    def test_reduces_rows(self):
        for shape in ((7, 33), (3, 1000), (2, 3, 5), (4, 0), (0, 4), (6, 1), (5,)):
            for dtype in ("u1", "i8", "f4"):
                items = random_items(dtype, int(np.prod(shape))).reshape(shape)
                path = self.save(items)
                for window in ("67108864", "64"):
                    text = self.reduce("--rows", "--window-bytes", window, path)
                    if dtype == "f4":
                        self.assert_close_sum(text, items, axis=-1)
                    else:
                        self.assertEqual(text.split(), [str(value) for value in np.sum(items, axis=-1).ravel()])

    def test_writes_results_of_rows_into_a_file(self):
        for dtype, op in (("u1", "sum"), ("i2", "min"), ("b1", "any"), ("f2", "max"), ("f8", "min"), ("i8", "argmax")):
            items = random_items(dtype, 600).reshape(4, 5, 30)
            expected = OPERATORS[op](items, axis=-1)
            for window in ("67108864", "96"):
                done = self.reduce("--rows", "--op", op, "-o", self.path("out.npy"), self.save(items),
                                   "--window-bytes", window)
                self.assertEqual(done, "")
                written = np.load(self.path("out.npy"))
                self.assertEqual(written.dtype, expected.dtype)
                np.testing.assert_array_equal(written, expected)
        self.reduce("-o", self.path("out.npy"), self.save(np.arange(5, dtype="u4")))
        self.assertEqual(np.load(self.path("out.npy")).shape, ())

    def test_transforms_items_and_knows_their_index_in_later_windows(self):
        items = np.arange(1000, dtype="u2")
        path = self.save(items)
        for window in ("67108864", "256"):
            self.assertEqual(self.reduce("--transform", "x * x", "--window-bytes", window, path),
                             str(np.sum(items.astype("u8") ** 2)))
            self.assertEqual(self.reduce("--transform", "select(0u, i, x % 2u == 0u)", "--window-bytes", window, path),
                             str(sum(range(0, 1000, 2))))
            self.assertEqual(self.reduce("--op", "argmax", "--transform", "(x * 7u) % 1000u", "--window-bytes", window, path),
                             str(np.argmax(items.astype("u4") * 7 % 1000)))
        self.assertEqual(self.reduce("--op", "max", "--transform", "x * 1000u", self.save(np.array([1, 200], "u1"))), "200000")

    def test_folds_init_once(self):
        path = self.save(np.arange(1000, dtype="i4"))
        for window in ("67108864", "256"):
            self.assertEqual(self.reduce("--init", "-1000", "--window-bytes", window, path), str(499500 - 1000))
            self.assertEqual(self.reduce("--op", "min", "--init", "-3", "--window-bytes", window, path), "-3")
        self.assertEqual(self.reduce("--op", "max", "--init", "2.5", self.save(np.array([1.0, 2.0]))), "2.5")
        self.assertEqual(self.reduce("--op", "max", "--init", "true", self.save(np.array([-1.0, 0.5]))), "1.0")
        for dtype in DTYPES:
            zeros, ones = self.save(np.zeros(3, dtype), "zeros.npy"), self.save(np.ones(3, dtype), "ones.npy")
            for true, false in (("true", "false"), ("1", "0")):
                self.assertEqual(self.reduce("--op", "any", "--init", true, zeros), "True")
                self.assertEqual(self.reduce("--op", "any", "--init", false, zeros), "False")
                self.assertEqual(self.reduce("--op", "all", "--init", false, ones), "False")
        self.assertEqual(self.reduce("--op", "sum", "--init", "0.5", self.save(np.ones(3, "f2"))), "3.5")

    def test_runs_an_operator_of_the_users_in_order(self):
        with open(self.path("compose.wgsl"), "w") as file:
            # Affine maps modulo 2^16 in two halves of a word: associative, but the order matters.
            file.write("fn compose(f: u32, g: u32) -> u32 {\n"
                       "  let a = (f & 0xffffu) * (g & 0xffffu);\n"
                       "  let b = (f >> 16u) * (g & 0xffffu) + (g >> 16u);\n"
                       "  return (a & 0xffffu) | (b << 16u);\n}\n")
        items = random_items("u4", 5000)
        expected = 1
        for g in map(int, items):
            a = (expected & 0xffff) * (g & 0xffff) & 0xffff
            b = (expected >> 16) * (g & 0xffff) + (g >> 16) & 0xffff
            expected = a | b << 16
        for window in ("67108864", "512"):
            self.assertEqual(self.reduce("--op-wgsl", self.path("compose.wgsl"), "--op-name", "compose", "--identity", "1u",
                                         "--window-bytes", window, self.save(items)), str(expected))

    def test_json_has_value_type_and_time(self):
        done = json.loads(self.output_of("reduce", "--json", self.save(np.full(3, 2**62, dtype="u8"))))
        self.assertEqual((done["value"], done["dtype"], done["items"]), (3 * 2**62, "u8", 3))
        self.assertGreater(done["seconds"], 0)
        done = json.loads(self.output_of("reduce", "--json", "--op", "min", self.save(np.array([np.nan], "f4"))))
        self.assertEqual(done["value"], "nan")
        done = json.loads(self.output_of("reduce", "--json", "--rows", "--op", "any", self.save(np.eye(2, 3))))
        self.assertEqual(done["values"], [True, True])

    def test_other_paths_give_the_same(self):
        items = random_items("f4", 100_003)
        path = self.save(items)
        for options in (["--limits", "minimum"], ["--no-subgroups"], ["--limits", "minimum", "--no-subgroups"],
                        ["--backend", "vulkan"], ["--adapter", ADAPTER.upper()]):
            self.assertEqual(self.reduce("--op", "argmin", path, *options), str(np.argmin(items)))
            self.assert_close_sum(self.output_of(*options, "reduce", path), items)


class BadInput(CliTest):
    def setUp(self):
        super().setUp()
        self.good = self.save(np.arange(10, dtype="f4"), "good.npy")

    def write(self, data, name="bad.npy"):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def test_files_that_are_no_arrays_are_refused(self):
        with open(self.good, "rb") as file:
            data = file.read()
        self.assert_refused(2, "No such file", "reduce", self.path("missing.npy"))
        self.assert_refused(2, "bad.npy", "reduce", self.write(data[:40]))
        self.assert_refused(2, "bad.npy", "reduce", self.write(data[:-1]))
        self.assert_refused(2, "bad.npy", "reduce", self.write(b""))
        self.assert_refused(2, "bad.npy", "reduce", self.write(b"no array at all"))
        self.assert_refused(2, "", "reduce", self.folder.name)
        self.assert_refused(2, "", "reduce", self.path("two\nlines.npy"))

    def test_arrays_of_other_types_and_orders_are_refused(self):
        self.assert_refused(2, "Fortran", "reduce", self.save(np.asfortranarray(np.ones((3, 4)))))
        self.assert_refused(2, "c8", "reduce", self.save(np.ones(3, dtype="c8")))
        self.assert_refused(2, "items.npy", "reduce", self.save(np.array(["text"])))
        self.assert_refused(2, "items.npy", "reduce", self.save(np.zeros(3, dtype=[("a", "u4")])))

    def test_impossible_reductions_are_refused(self):
        f8 = self.save(np.ones(3), "f8.npy")
        for op in ("sum", "product"):
            self.assert_refused(2, "--cast f4", "reduce", "--op", op, f8)
        self.assert_refused(2, "--cast f4", "reduce", "--op", "min", "--transform", "x", f8)
        self.assert_refused(2, "no 64-bit integers", "reduce", "--transform", "x * 2", self.save(np.ones(3, "u8")))
        self.assert_refused(2, "bits of integers", "reduce", "--op", "xor", self.good)
        self.assert_refused(2, "no operator", "reduce", "--op", "median", self.good)
        self.assert_refused(2, "--cast f4", "reduce", "--cast", "f4", self.save(np.ones(3, "i8")))
        self.assert_refused(2, "dimension", "reduce", "--rows", self.save(np.array(1.0, "f4")))
        self.assert_refused(2, "index", "reduce", "--op", "argmin", "--init", "1", self.good)
        self.assert_refused(2, "--init", "reduce", "--init", "blue", self.good)
        self.assert_refused(2, "--init", "reduce", "--op", "max", "--init", "300", self.save(np.ones(3, "u1")))

    def test_an_init_beyond_the_type_is_refused(self):
        beyond = {"f4": ("1e39", "-3.5e38", "3.4028236e38"), "f2": ("70000", "-65520"), "f8": ("1e309",),
                  "u1": ("256", "-1", "1.5", "inf"), "i2": ("32768", "-32769"), "u8": (str(2**64),),
                  "i8": (str(2**63),), "b1": ("2",)}
        for dtype, values in beyond.items():
            for count in (0, 3):
                file = self.save(np.zeros(count, dtype))
                for value in values:
                    self.assert_refused(2, f"--init {value}: not a value of {dtype}", "reduce", "--op", "max",
                                        "--init", value, file)
        for dtype in DTYPES:
            for op in ("any", "all"):
                self.assert_refused(2, "--init 2: not a value of b1", "reduce", "--op", op, "--init", "2",
                                    self.save(np.zeros(3, dtype)))
        within = {"f4": ("3.4028235e38", "inf"), "f2": ("65519", "inf"), "f8": ("1.7976931348623157e308", "inf"),
                  "u1": ("255",), "i2": ("32767",), "u8": (str(2**64 - 1),)}
        for dtype, values in within.items():
            for value in values:
                printed = self.output_of("reduce", "--op", "max", "--init", value, self.save(np.zeros(3, dtype)))
                self.assertEqual(np.array(printed.strip(), dtype), np.array(value, dtype))
        for dtype in ("f2", "f4", "f8"):
            for count in (0, 3):
                self.assertEqual(self.output_of("reduce", "--op", "min", "--init=-inf", self.save(np.zeros(count, dtype))),
                                 "-inf\n")

    def test_options_without_characters_are_refused(self):
        self.write(b"fn f(a: f32, b: f32) -> f32 { return a + b; }", "op.wgsl")
        operator = {"--op-wgsl": self.path("op.wgsl"), "--op-name": "f", "--identity": "0.0"}
        for empty in ("--op-name", "--identity"):
            words = [word for option, value in operator.items() for word in (option, "" if option == empty else value)]
            self.assert_refused(2, f"{empty} is empty", "reduce", *words, self.good)
        self.assert_refused(2, "--op-wgsl: the name of the file is empty", "reduce", "--op-wgsl", "", self.good)
        for option in ("--init", "--transform", "--op", "--adapter", "--backend"):
            self.assert_refused(2, f"{option} is empty", "reduce", option, "", self.good)
        self.assert_refused(2, "--transform is empty", "explain", "reduce", "--items", "5", "--transform", "")
        self.assert_refused(2, "--op is empty", "bench", "reduce", "--op", "")
        # Nor is the next word taken for the value.
        for words in (("--init=", "7"), ("--op=", "max"), ("--output=", self.path("kept.npy")), ("--transform=", "x")):
            self.assert_refused(2, f"{words[0][:-1]} is empty", "reduce", self.good, *words)
        self.assertFalse(os.path.exists(self.path("kept.npy")))

    def test_transforms_are_one_expression(self):
        for text in ("x;", "x; return x", "x; } fn other() -> f32 { return 0.0", "x }", "{"):
            self.assert_refused(2, "--transform", "reduce", "--transform", text, self.good)
            self.assert_refused(2, "--transform", "scan", "--transform", text, self.good, "-o", self.path("o.npy"))
        operator = ["--op-wgsl", self.write(b"fn f(a: f32, b: f32) -> f32 { return a; }", "op.wgsl"), "--op-name", "f",
                    "--identity", "0.0"]
        for options in ([], operator):
            self.assert_refused(2, '--transform "(x": brackets', "reduce", "--transform", "(x", *options, self.good)
        self.assertEqual(self.output_of("reduce", "--transform", "x * 2.0 // twice; {", self.save(np.ones(3, "f4"))), "6.0\n")

    def test_sums_of_booleans_may_begin_below_zero(self):
        booleans = self.save(np.ones(4, "b1"))
        for value, total, product in ((-1, 3, -1), (-129, -125, -129), (-2**63, 4 - 2**63, -2**63), (5, 9, 5)):
            init = f"--init={value}"
            self.assertEqual(self.output_of("reduce", "--op", "sum", init, booleans), f"{total}\n")
            self.assertEqual(self.output_of("reduce", "--op", "product", init, booleans), f"{product}\n")
            self.output_of("scan", init, booleans, "-o", self.path("o.npy"))
            np.testing.assert_array_equal(np.load(self.path("o.npy")), np.arange(1, 5, dtype="i8") + value)

    def test_mistakes_in_wgsl_are_the_users(self):
        self.assert_refused(2, "transform", "reduce", "--transform", "x + nonsense", self.good)
        self.assert_refused(2, "transform", "reduce", "--transform", "x +", self.good)
        self.write(b"fn broken(a: f32, b: f32) -> f32 { return c; }", "op.wgsl")
        operator = ["--op-wgsl", self.path("op.wgsl"), "--op-name", "broken", "--identity", "0.0"]
        file = f"--op-wgsl {self.path('op.wgsl')}"
        self.assert_refused(2, f"{file}: operator \"broken\":1: unresolved value 'c'\n", "reduce", *operator, self.good)
        self.write(b"fn broken(a: f32, b: f32) -> f32 {\n return a;\n", "op.wgsl")
        self.assert_refused(2, f'{file}: operator "broken":2: brackets', "reduce", *operator, self.good)
        self.write(b"fn broken(a: f32, b: f32) -> f32 { return min(a, b); }\nfn min(a: f32, b: f32) -> f32 { return a; }",
                   "op.wgsl")
        self.assert_refused(2, f'{file}: The operator "broken" declares "min"', "reduce", *operator, self.good)
        self.assert_refused(2, "--identity", "reduce", *operator[:4], self.good)
        for unreadable in (self.path("none"), self.folder.name):
            self.assert_refused(2, f"--op-wgsl {unreadable}: cannot be read", "reduce", "--op-wgsl", unreadable,
                                *operator[2:], self.good)
        for name in ("broken(a, b);//", "2b", "a b", "a.b"):
            self.assert_refused(2, f'--op-name "{name}": not a name of a function', "reduce", *operator[:3], name,
                                *operator[4:], self.good)
        self.write(b"fn broken(a: f32) -> f32 { return a; }", "op.wgsl")
        self.assert_refused(2, f'{file} --op-name "broken": too many arguments', "reduce", *operator, self.good)
        self.write(b"fn broken(a: f32, b: f32) -> f32 { return a; }", "op.wgsl")
        for name in ("other", "min", "vec2f", "broke", "roken", "a", "fn"):
            self.assert_refused(2, f'{file} --op-name "{name}": the file declares no function of that name', "reduce",
                                *operator[:3], name, *operator[4:], self.good)
        self.assert_refused(2, "--identity \"nought\": unresolved value 'nought'", "reduce", *operator[:5], "nought",
                            self.good)
        self.write(b"", "op.wgsl")
        self.assert_refused(2, f"--op-wgsl {self.path('op.wgsl')}: the file is empty", "reduce", *operator, self.good)

    def test_operators_are_declared_with_any_space_around_their_names(self):
        for head in (b"fn f(", b"@must_use fn\n\tf (", b"// f\nfn /* f */ f(", b"fn f/**/("):
            self.write(head + b"a: f32, b: f32) -> f32 { return a + b; }", "op.wgsl")
            self.assertEqual(self.output_of("reduce", "--op-wgsl", self.path("op.wgsl"), "--op-name", "f", "--identity", "0.0",
                                            self.good), "45.0\n")

    def test_long_names_of_a_files_text_are_cut(self):
        name = "n" * 5000
        self.write(f"fn f(a: f32, b: f32) -> f32 {{ return {name}; }}".encode(), "op.wgsl")
        operator = ("--op-wgsl", self.path("op.wgsl"), "--identity", "0.0", "--op-name")
        short = f"{name[:200]}... (4800 more characters)"
        self.assert_refused(2, f"unresolved value '{short}'\n", "reduce", *operator, "f", self.good)
        self.assert_refused(2, f'--op-name "{short}": the file declares', "reduce", *operator, name, self.good)
        self.assert_refused(2, f"unresolved value '{short}'\n", "reduce", "--transform", f"x + {name}", self.good)

    def test_usage_errors_are_refused(self):
        self.assert_refused(2, "", "sort", self.good)
        self.assert_refused(2, "file", "reduce")
        self.assert_refused(2, "--colour", "reduce", "--colour", self.good)
        self.assert_refused(2, 'no option "--csat" (is it --cast?);', "reduce", "--csat", "f4", self.good)
        self.assert_refused(2, 'no option "--transf" (is it --transform?);', "reduce", "--transf=x", self.good)
        self.assert_refused(2, 'no option "--itmes" (is it --items?);', "explain", "sort", "--itmes", "5")
        self.assert_refused(2, 'no option "--adaptor" (is it --adapter?);', "--adaptor", "x", "info")
        self.assert_refused(2, 'no option "-o";', "rle", "-o", self.path("out.npy"), self.good)
        self.assert_refused(2, "not expected: more.npy", "reduce", self.good, "more.npy")
        for alone in (["--op-name", "f"], ["--identity", "0u"], ["--commutes"]):
            self.assert_refused(2, f"{alone[0]} requires --op-wgsl", "reduce", *alone, self.good)
        self.assert_refused(2, "--op excludes --op-wgsl", "reduce", "--op", "max", "--op-wgsl", self.good, self.good)
        self.assert_refused(2, "--limits", "--limits", "tight", "info")
        self.assert_refused(2, "No adapter fits", "--adapter", "no such thing", "info")
        self.assert_refused(2, "No adapter fits", "--backend", "glide", "reduce", self.good)
        self.assert_refused(2, "items", "explain", "reduce")
        self.assert_refused(2, "no count", "explain", "reduce", "--items", "-3")
        self.assert_refused(2, "no count", "explain", "reduce", "--items", "2^99")
        self.assert_refused(2, "u32x", "explain", "reduce", "--items", "3", "--type", "u32x")
        self.assert_refused(2, "4294967294", "explain", "reduce", "--items", "1e11")
        self.assert_refused(2, "--dump", "explain", "reduce", "--items", "2^30", "--dump")
        self.assert_refused(2, "--dump", "explain", "reduce", "--items", "2", "--dump", "--traits", "minimum")
        self.assert_refused(2, "no benchmark", "bench", "sudoku")
        self.assert_refused(2, "no count", "bench", "reduce", "--items", "many")

    def test_no_adapter_at_all_is_a_failure_of_the_device(self):
        # Before our line the Vulkan loader may say why.
        environment = dict(os.environ, VK_DRIVER_FILES=self.path("no_driver.json"))
        done = self.run_program("reduce", self.good, env=environment)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"(\A|\n)upsweep: No WebGPU adapter was found[^\n]*\n\Z")

    def test_refused_reductions_write_no_file(self):
        out = self.path("out.npy")
        self.assert_refused(2, "transform", "reduce", "--transform", "nonsense", "-o", out, self.good)
        self.assertFalse(os.path.exists(out))
        self.save(np.arange(3), "out.npy")
        self.assert_refused(2, "transform", "reduce", "--transform", "nonsense", "-o", out, self.good)
        np.testing.assert_array_equal(np.load(out), np.arange(3))
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["good.npy", "out.npy"])
        self.assert_refused(2, "No such file", "reduce", "-o", self.path("no/folder.npy"), self.good)

    def test_output_that_cannot_be_written_is_reported(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "reduce", self.good], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "upsweep: cannot write to standard output\n"))

    def test_a_reader_that_goes_away_ends_the_program_quietly(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([PROGRAM, "reduce", self.good], stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, ""))


class OtherCommands(CliTest):
    def test_help_and_version_succeed_everywhere(self):
        for command in ([], ["info"], ["reduce"], ["explain"], ["explain", "reduce"], ["bench"]):
            text = self.output_of(*command, "--help")
            self.assertIn("Examples:\n  upsweep ", text)
        self.assertRegex(self.output_of("--version"), r"\Aupsweep \d+\.\d+\.\d+\n\Z")

    def test_info_describes_the_adapter(self):
        facts = json.loads(self.output_of("info", "--json"))
        self.assertIn(ADAPTER, facts["adapter"])
        self.assertTrue(facts["probe"]["ran"] and facts["probe"]["integer_division"])
        self.assertTrue(any(ADAPTER in name for name in facts["adapters"]))
        text = self.output_of("info")
        self.assertIn(facts["adapter"], text)
        self.assertIn(facts["reduce"][0], text)
        for primitive in ("scan", "sort", "histogram"):
            self.assertIn(facts[primitive][0], text)
        self.assertRegex(facts["sort"][0], r"ascending sort of u32; 2\^24 items in \d+ passes; tiles of .* ranks ")
        self.assertFalse(facts["probe"]["self_test_ran"])
        self.assertIn("not tried, as on all software adapters", text)

    def test_options_change_what_info_reports(self):
        facts = json.loads(self.output_of("info", "--json", "--no-subgroups", "--limits", "minimum"))
        self.assertFalse(facts["features"]["subgroups"])
        self.assertEqual(facts["limits"]["max_workgroup_size"], 256)
        self.assertEqual(facts["limits"]["max_binding_bytes"], 128 << 20)

    def test_explain_prints_passes_and_bytes(self):
        for arguments in (["--items", "0"], ["--items", "1000"], ["--items", "2^28"], ["--items", "1e6", "--device-count"],
                          ["--items", "100", "--rows", "5000"], ["--items", "2^20", "--rows", "16"],
                          ["--items", "1000", "--segments", "10"], ["--items", "1000", "--type", "u64", "--op", "argmin"],
                          ["--items", "2^28", "--limits", "minimum"], ["--items", "5000", "--transform", "x * x"]):
            text = self.output_of("explain", "reduce", *arguments)
            self.assertRegex(text, r"\Aplan reduce: \d+ pass")
            moved, least = map(int, re.search(r"moves (\d+) bytes; (\d+) must move", text).groups())
            self.assertGreaterEqual(moved, least)

    def test_explain_needs_no_device_for_minimum_traits(self):
        environment = dict(os.environ, VK_DRIVER_FILES=self.path("no_driver.json"))
        text = self.output_of("explain", "reduce", "--items", "2^24", "--traits", "minimum", "--wgsl", env=environment)
        self.assertIn("tree in workgroup memory", text)
        self.assertIn("@compute", text)

    def test_explain_dumps_scratch_after_each_pass(self):
        items = [(i * 7 + 3) % 10 for i in range(50_000)]
        text = self.output_of("explain", "reduce", "--items", "50000", "--type", "u32", "--multi-pass", "--dump")
        self.assertIn("input = [3, 0, 7, 4, 1,", text)
        partials = re.search(r"after pass 0 \(reduce_tile\): partials = \[([^\]]*)\]", text).group(1)
        self.assertEqual(sum(map(int, partials.split(", "))), sum(items))
        self.assertIn(f"output = [{sum(items)}]", text)

    def test_explain_dumps_other_shapes_with_right_results(self):
        for arguments, expected in (
                (["--items", "50000", "--type", "f32"], "[225000.0]"),
                (["--items", "0", "--op", "min"], "[inf]"),
                (["--items", "10", "--rows", "3", "--type", "i32"], "[45, 45, 45]"),
                (["--items", "30", "--segments", "3", "--op", "max", "--type", "u64"], "[9, 9, 9]"),
                (["--items", "40", "--op", "argmax", "--device-count"], "[8]"),
                (["--items", "20", "--type", "vec2u"], "[(100, 80)]")):
            text = self.output_of("explain", "reduce", "--dump", *arguments)
            self.assertIn(f"output = {expected}\n", text, f"{arguments}")

    def test_types_go_by_numpys_names_as_well(self):
        for numpys, ours in {"u4": "u32", "i4": "i32", "f4": "f32", "f2": "f16", "u8": "u64", "i8": "i64"}.items():
            self.assertIn(f" {ours} ", self.output_of("explain", "unique", "--items", 1000, "--type", numpys))
            if ours == "f16":
                continue  # not among the types of every device
            for command in (["reduce"], ["scan"], ["sort"], ["topk", "-k", 3], ["reduce_by_key"]):
                options = ("explain", *command, "--items", 1000, "--traits", "minimum", "--type")
                self.assertEqual(self.output_of(*options, numpys), self.output_of(*options, ours))
        sizes = ["--traits", "minimum", "--items", 9]
        self.assertEqual(self.output_of("explain", "sort", *sizes, "--type", "f8", "--values", "u8"),
                         self.output_of("explain", "sort", *sizes, "--type", "f64", "--values", "u64"))
        for command in ("bench reduce", "explain histogram"):
            self.assert_refused(2, "--type u8 may be 8 bits", *command.split(), "--type", "u8", "--items", "8")

    def test_types_that_a_command_lacks_are_named_as_typed(self):
        for command, option, types in (("reduce", "--type", ("u1", "f8", "b1")), ("scan", "--type", ("i1", "f8", "u32x")),
                                       ("reduce_by_key", "--keys", ("i2", "f8")), ("sort", "--type", ("i1", "vec2f")),
                                       ("sort", "--values", ("u1", "f8")), ("topk -k 3", "--type", ("u1", "vec4u")),
                                       ("histogram", "--type", ("i1", "i8", "f8", "vec2f"))):
            for name in types:
                self.assert_refused(2, f"{option} {name}: ", "explain", *command.split(), "--items", 3, option, name)
        self.assert_refused(2, "--weights: f2 not in", "explain", "histogram", "--items", 3, "--weights", "f2")

    def test_benchmarks_refuse_each_type_that_they_lack(self):
        for names, types, missing in (("rle", "u4,f4", "f4"), ("rle", "f4", "f4"), ("reduce rle", "f4,u4", "f4"),
                                      ("select", "u4,i8", "i8"), ("scan", "u32,i4", "i4"), ("reduce_by_key", "f4,i4", "i4"),
                                      ("sort", "u4,i4", "i4"), ("merge_sort", "u4,i4", "i4"), ("search", "u4,f4", "f4"),
                                      ("topk", "u4,i4", "i4"), ("histogram", "f4,u4", "u4"), ("spmv", "f4,u4", "u4"),
                                      ("solve", "f4,f2", "f2"), ("csr_statistics", "f4,u4", "u4"),
                                      ("scan --ladder", "u4,u64", "u64"), ("reduce", "u4,i1", "i1")):
            self.assert_refused(2, f"--type {missing}: ", "bench", *names.split(), "--type", types, "--items", 1000)
        # Where the operation is at fault, types are not.
        self.assert_refused(2, "upsweep: The benchmark of run_length", "bench", "rle", "--type", "u4", "--op", "none")
        self.assert_refused(2, "The benchmark of conjugate_gradient shows grid5 of f32, and", "bench", "solve", "--type", "u4")

    def test_numbers_that_must_be_positive_say_so(self):
        self.assert_refused(2, "--samples: 0 is no number above 0;", "bench", "--samples", "0")
        self.assert_refused(2, '--samples: "-1" is no count;', "bench", "--samples=-1")
        for value in ("0", "-1", "nan", "inf", "x"):
            for command in (("solve", "A.mtx", "B.npy"), ("pagerank", "A.mtx")):
                self.assert_refused(2, f"--tol: {value} is no number above 0;", *command, "-o", "X.npy", f"--tol={value}")

    def test_primitives_go_by_the_names_of_their_commands_and_their_own(self):
        for command, own, *more in (("rle", "run_length"), ("topk", "top_k", "-k", 3)):
            options = ["--items", 100, "--traits", "minimum", *more]
            self.assertEqual(self.output_of("explain", command, *options), self.output_of("explain", own, *options))
        path = self.path("bench.json")
        self.output_of("bench", "rle", "topk", "solve", "--items", 500, "--samples", 1, "--json", path)
        with open(path) as file:
            names = {row["primitive"] for row in json.load(file)["results"]}
        self.assertEqual(names, {"run_length", "top_k", "conjugate_gradient"})

    def test_bench_takes_numpys_names_and_leaves_logs_alone(self):
        path = self.path("bench.json")
        done = self.run_program("bench", "reduce", "--type", "f4,u4", "--op", "max", "--items", "1000,2^22", "--samples", 1,
                                "--json", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(path) as file:
            self.assertEqual({row["type"] for row in json.load(file)["results"]}, {"f32", "u32"})
        self.output_of("bench", "histogram", "--type", "u1", "--op", "even_256", "--items", 1000, "--json", path)
        with open(path) as file:
            self.assertEqual({row["type"] for row in json.load(file)["results"]}, {"u8"})
        self.assert_refused(2, "--items 0: there is nothing to measure", "bench", "reduce", "--items", "1000,0")
        self.assert_refused(2, "The benchmark of reduce has no items of u8.", "bench", "reduce", "--type", "u1", "--items", 8)

    def test_bench_writes_through_links_and_pipes(self):
        bench = ("bench", "reduce", "--type", "u4", "--items", 1000, "--samples", 1, "--json")
        link, target, pipe = self.path("link"), self.path("target.json"), self.path("pipe")
        os.symlink(target, link)
        self.output_of(*bench, link)
        self.assertTrue(os.path.islink(link))
        with open(target) as file:
            self.assertEqual({row["type"] for row in json.load(file)["results"]}, {"u32"})
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
            self.output_of(*bench, pipe)
            self.assertEqual({row["type"] for row in json.loads(reader.stdout.read())["results"]}, {"u32"})
        self.output_of(*bench, "/dev/null")
        self.assert_refused(2, "--json /dev/stdout: the table is printed there; name a file", *bench, "/dev/stdout")
        self.assert_refused(2, "cannot be written", *bench, self.folder.name)

    def test_bench_ends_with_a_table(self):
        path = self.path("bench.json")
        text = self.output_of("bench", "reduce", "--ladder", "--quick", "--items", "2^12", "--samples", "2", "--json", path)
        self.assertIn("GB/s", text)
        with open(path) as file:
            self.assertTrue(json.load(file))


if __name__ == "__main__":
    unittest.main()
