"""upsweep sort and upsweep argsort, as a user runs them, against NumPy."""

import json
import os
import re
import unittest

import numpy as np

from cli_case import ADAPTER, DTYPES, CliTest, random_items


def many(count):
    """`count`, or what one workgroup sorts: SwiftShader takes seconds to compile kernels for more, and minutes for keys
    of two words.
    """
    return min(count, 200) if ADAPTER == "SwiftShader" else count


def words(array):
    """The items as words, so that NaN and signs of zero compare."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def repeated(dtype, count, seed=2):
    """Items of both signs, each several times."""
    items = random_items(dtype, count // 3 + 1, seed)
    return np.random.default_rng(seed).permutation(np.tile(items, 3)[:count])


def order_of(keys, descending=False):
    """Where the items of the sorted array are: stable, NaN the greatest."""
    keys = keys.ravel()
    if not descending:
        return np.argsort(keys, kind="stable")
    return len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]


class SortTest(CliTest):
    def assert_same(self, written, expected, message=""):
        """Equal type, shape and bits."""
        self.assertEqual((written.dtype, written.shape), (expected.dtype, expected.shape), message)
        np.testing.assert_array_equal(words(written), words(expected), message)

    def sort(self, keys, *options, order=None, argsort=True):
        """Checks sorted keys and values that number them, and the indices of argsort."""
        message = f"{keys.dtype} {keys.shape} {options}"
        native = keys.astype(keys.dtype.newbyteorder("=")).ravel()
        if order is None:
            order = order_of(native, "--descending" in options)
        out, numbers, numbers_out = self.path("out.npy"), self.path("numbers.npy"), self.path("numbers_out.npy")
        np.save(numbers, np.arange(native.size, dtype="u4"))
        file = self.save(keys)
        self.output_of("sort", file, "-o", out, "--values", numbers, "--values-out", numbers_out, *options)
        self.assert_same(np.load(out), keys.ravel()[order], message)
        self.assert_same(np.load(numbers_out), order.astype("u4"), message)
        if "--bits" not in options and argsort:
            self.output_of("argsort", file, "-o", numbers_out, *options)
            self.assert_same(np.load(numbers_out), order.astype("i8"), message)

    def refused(self, expected, *arguments):
        """Refused, and nothing written."""
        before = sorted(os.listdir(self.folder.name))
        self.assert_refused(2, expected, *arguments)
        self.assertEqual(sorted(os.listdir(self.folder.name)), before)


class Sort(SortTest):
    def test_equals_numpy_for_every_type_in_both_directions(self):
        for dtype in DTYPES:
            keys = repeated(dtype, many(5003))
            self.sort(keys, argsort=dtype[0] != "f")
            self.sort(keys, "--descending", argsort=dtype[0] == "f")

    def test_keys_of_other_byte_orders_and_shapes_are_sorted_flat(self):
        for dtype in (">i4", ">f8", ">u2", ">i2", ">f2"):
            self.sort(repeated(dtype[1:], 1000).astype(dtype))
        self.sort(repeated("i8", 600).reshape(20, 30))
        self.sort(np.array(7, dtype="u4"))
        for dtype in ("f4", "i1", "f2", "f8"):
            self.sort(np.zeros(0, dtype=dtype))

    def test_many_tiles_are_sorted(self):
        self.sort(repeated("u4", 70_001))
        self.sort(repeated("f8", many(50_000)), "--descending")
        self.sort(random_items("u1", 60_001))

    def test_nan_is_the_greatest_and_zeros_are_equal(self):
        for dtype, bits in (("f2", "u2"), ("f4", "u4"), ("f8", "u8")):
            special = np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, -1, 1, -np.nan, 0.0, -0.0], dtype=dtype)
            payload = special[:1].copy()
            payload.view(bits)[0] += 1
            tiny = np.array([1], dtype=bits).view(dtype)
            keys = np.concatenate([special, payload, tiny, -tiny, special])
            self.sort(keys)
            self.sort(keys, "--descending")
            out = self.path("out.npy")
            self.output_of("sort", "--descending", "-o", out, self.path("items.npy"))
            self.assertEqual(list(np.isnan(np.load(out)[:6])), [True] * 5 + [False])

    def test_ranges_of_bits_decide_alone(self):
        for dtype in ("u1", "u2", "u4", "u8"):
            keys = random_items(dtype, many(4000))
            width = 8 * keys.dtype.itemsize
            begin, end = width // 4, width // 2 + 3
            part = (keys >> keys.dtype.type(begin)) & keys.dtype.type((1 << (end - begin)) - 1)
            self.sort(keys, "--bits", begin, end, order=order_of(part))
            self.sort(keys, "--bits", 0, width, "--descending")
        for dtype in ("i1", "i2", "i4"):
            # The topmost bit, flipped, is the sign.
            keys = random_items(dtype, 1000)
            width = 8 * keys.dtype.itemsize
            self.sort(keys, "--bits", width - 1, width, order=order_of(keys >= 0))
        # The file between options, as in the help.
        self.output_of("sort", "--bits", 0, 4, self.save(keys), "-o", self.path("o.npy"))

    def test_values_of_every_type_follow_their_keys(self):
        count = many(3000)
        keys = repeated("f4", count)
        order = order_of(keys)
        file, out, out_values = self.save(keys), self.path("out.npy"), self.path("out_values.npy")
        for dtype in DTYPES + [">i4", ">u2"]:
            values = random_items(dtype.lstrip(">"), count, seed=9).astype(dtype)
            self.output_of("sort", file, "-o", out, "--values", self.save(values, "values.npy"), "--values-out",
                           out_values)
            self.assert_same(np.load(out), keys[order], dtype)
            self.assert_same(np.load(out_values), values[order], dtype)
            if dtype not in ("u1", "f2", "u4", "f8"):
                continue
            # Values alone.
            os.remove(out_values)
            self.output_of("sort", file, "--values", self.path("values.npy"), "--values-out", out_values)
            self.assert_same(np.load(out_values), values[order], dtype)

    def test_rows_of_values_follow_their_keys(self):
        keys = repeated("i4", 1001)
        order = order_of(keys, descending=True)
        file, out, out_values = self.save(keys), self.path("out.npy"), self.path("out_values.npy")
        for dtype, row in (("f4", (3,)), ("f4", (4,)), ("u1", (3,)), ("f2", (3,)), ("u1", (8,)), ("f8", (2, 3)),
                           ("i2", (1,)), (">f4", (4,)), (">f2", (3,))):
            values = random_items(dtype.lstrip(">"), 1001 * int(np.prod(row)), seed=9).reshape(1001, *row).astype(dtype)
            self.output_of("sort", file, "--descending", "-o", out, "--values", self.save(values, "values.npy"),
                           "--values-out", out_values)
            self.assert_same(np.load(out), keys[order], f"{dtype} {row}")
            self.assert_same(np.load(out_values), values[order], f"{dtype} {row}")

    def test_flat_values_go_with_shaped_keys(self):
        keys = repeated("u2", 600).reshape(20, 30)
        values = random_items("f8", 600).reshape(20, 30)
        self.output_of("sort", self.save(keys), "--values", self.save(values, "values.npy"), "--values-out",
                       self.path("out.npy"))
        self.assert_same(np.load(self.path("out.npy")), values.ravel()[order_of(keys)])

    def test_standard_input_and_forced_paths(self):
        keys = repeated("u4", 20_000)
        file, out = self.save(keys), self.path("out.npy")
        with open(file, "rb") as stream:
            self.output_of("sort", "-", "-o", out, stdin=stream)
        self.assert_same(np.load(out), np.sort(keys))
        for options in (["--no-subgroups"], ["--limits", "minimum"], ["--no-subgroups", "--limits", "minimum"]):
            self.sort(keys, *options)

    def test_json_says_what_was_sorted(self):
        file = self.save(repeated("f2", 100))
        for command in ("sort", "argsort"):
            answer = json.loads(self.output_of(command, file, "--json", "-o", self.path("out.npy")))
            self.assertEqual((answer["items"], answer["dtype"]), (100, "f2"))
            self.assertGreater(answer["seconds"], 0)


class Refusals(SortTest):
    def setUp(self):
        super().setUp()
        self.keys = self.save(repeated("f4", 100))
        self.out = self.path("out.npy")

    def test_requests_that_make_no_sense(self):
        values = self.save(np.arange(99), "values.npy")
        self.refused("sort needs --output or --values-out", "sort", self.keys)
        self.refused("--values-out", "sort", self.keys, "-o", self.out, "--values", values)
        self.refused("--values", "sort", self.keys, "-o", self.out, "--values-out", self.path("w.npy"))
        self.refused("--output is required", "argsort", self.keys)
        self.refused("--bits 8 33: BEGIN must be below END, and END at most 32 for f4", "sort", self.keys, "-o",
                     self.out, "--bits", 8, 33)
        self.refused("--bits 9 9: ", "sort", self.keys, "-o", self.out, "--bits", 9, 9)
        self.refused("END at most 8 for u1", "sort", self.save(np.arange(9, dtype="u1"), "bytes.npy"), "-o", self.out,
                     "--bits", 0, 9)
        self.refused("--bits", "sort", self.keys, "-o", self.out, "--bits", 9)

    def test_values_that_do_not_go_with_the_keys(self):
        def refused(expected, values):
            self.refused(expected, "sort", self.keys, "-o", self.out, "--values", self.save(values, "values.npy"),
                         "--values-out", self.path("w.npy"))
        self.save(np.zeros(0), "values.npy")
        refused("values.npy: 99 values, or rows of a first dimension of 99, do not go with the 100 keys of", np.arange(99))
        refused("200 values, or rows of a first dimension of 2,", np.zeros((2, 100)))
        refused("1 values", np.array(3))
        refused("rows without items", np.zeros((100, 0)))

    def test_files_that_are_no_keys(self):
        for command in ("sort", "argsort"):
            for array in (np.zeros(3, dtype="c8"), np.array(["a"]), np.zeros(3, dtype="f4,i4")):
                self.refused("items.npy: ", command, self.save(array), "-o", self.out)
            self.refused("Fortran", command, self.save(np.asfortranarray(np.zeros((3, 4)))), "-o", self.out)
            self.refused("No such file", command, self.path("none.npy"), "-o", self.out)

    def test_keys_that_one_binding_does_not_hold(self):
        # A hole of a file: nobody reads it.
        count = (128 << 20) // 4 + 1
        with open(self.keys, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<u4", "fortran_order": False, "shape": (count,)})
            file.truncate(file.tell() + 4 * count)
        for command in ("sort", "argsort"):
            self.refused(f"items.npy: {count} items of 4 bytes are larger than the device's limit of one binding",
                         command, self.keys, "-o", self.out, "--limits", "minimum")
            self.refused("`upsweep info` lists them", command, self.keys, "-o", self.out, "--limits", "minimum")

    def test_two_outputs_appear_together(self):
        values = self.save(np.arange(100), "values.npy")
        self.refused("--output and --values-out name the same file", "sort", self.keys, "-o", self.out, "--values",
                     values, "--values-out", self.out)
        missing = os.path.join(self.path("nowhere"), "w.npy")
        self.refused("nowhere", "sort", self.keys, "-o", self.out, "--values", values, "--values-out", missing)
        # What is written last fails: the file that was complete before it does not appear either.
        self.refused("/dev/full", "sort", self.keys, "-o", self.out, "--values", values, "--values-out", "/dev/full")


class Explain(SortTest):
    def test_plans_are_explained(self):
        text = self.output_of("explain", "sort", "--items", "100000", "--type", "u32", "--path", "three-pass")
        self.assertRegex(text, r"\Aplan sort: \d+ passes")
        self.assertIn("ascending sort of u32", text)
        text = self.output_of("explain", "sort", "--items", "2^20", "--type", "f64", "--values", "vec4f", "--traits",
                              "minimum", "--descending", "--wgsl")
        self.assertIn("descending sort of f64 with vec4<f32>", text)
        self.assertRegex(text, r"\n// kernel sort_\w+\n")
        few = self.output_of("explain", "sort", "--items", "1e6", "--type", "u32", "--bits", 8, 16)
        self.assertLess(few.count("digit"), self.output_of("explain", "sort", "--items", "1e6").count("digit"))

    def test_plans_are_run(self):
        options = ("explain", "sort", "--items", 10, "--type", "i32", "--dump")
        text = self.output_of(*options)
        self.assertIn("\nsorted_keys = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", text)
        text = self.output_of(*options, "--descending", "--in-place")
        self.assertIn("\nsorted_keys = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]", text)
        text = self.output_of(*options, "--indices", "--no-keys", "--device-count")
        numbers = [(i * 7 + 3) % 10 for i in range(10)]
        self.assertIn(f"\nindices = {[numbers.index(i) for i in range(10)]}", text)
        text = self.output_of(*options, "--values", "vec2f")
        self.assertRegex(text, re.escape("\nsorted_values = [("))

    def test_argsort_is_a_sort_of_indices(self):
        options = ("--items", 10, "--type", "f8", "--descending")
        text = self.output_of("explain", "argsort", *options, "--dump")
        digits = np.array([(i * 7 + 3) % 10 for i in range(10)])
        self.assertIn(f"\nindices = [{', '.join(map(str, order_of(digits, descending=True)))}]\n", text)
        self.assertEqual(self.output_of("explain", "sort", *options, "--indices", "--no-keys", "--dump"), text)

    def test_plans_that_cannot_be_are_refused(self):
        self.refused("no result", "explain", "sort", "--items", 10, "--no-keys")
        self.refused("vec2", "explain", "sort", "--items", 10, "--type", "vec2f")
        self.refused("one binding", "explain", "sort", "--items", "2^28", "--traits", "minimum")

    def test_help_has_examples(self):
        for command in (("sort",), ("argsort",), ("explain", "sort")):
            self.assertIn(f"  upsweep {' '.join(command)} ", self.output_of(*command, "--help"))


if __name__ == "__main__":
    unittest.main()
