"""upsweep topk, as a user runs it, against NumPy."""

import json
import unittest

import numpy as np

from cli_case import DTYPES, CliTest, random_items


def words(array):
    """The items as words, so that NaN and signs of zero compare."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def order_of(keys, largest=True):
    """Where the items of the sorted array are: stable, NaN the greatest."""
    keys = keys.ravel()
    if not largest:
        return np.argsort(keys, kind="stable")
    return len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]


class TopKTest(CliTest):
    def assert_same(self, written, expected, message=""):
        """Equal type, shape and bits."""
        self.assertEqual((written.dtype, written.shape), (expected.dtype, expected.shape), message)
        np.testing.assert_array_equal(words(written), words(expected), message)

    def top_k(self, keys, k, *options):
        """Checks keys, indices, and values that number the keys."""
        message = f"{k} of {keys.dtype} {keys.shape} {options}"
        native = keys.astype(keys.dtype.newbyteorder("=")).ravel()
        order = order_of(native, "--smallest" not in options)[:k]
        if "--input-order" in options:
            order = np.sort(order)
        out, where, numbers_out = self.path("out.npy"), self.path("where.npy"), self.path("numbers_out.npy")
        numbers = self.save(np.arange(native.size, dtype="u4"), "numbers.npy")
        self.output_of("topk", "-k", k, self.save(keys), "-o", out, "--indices-out", where, "--values", numbers,
                       "--values-out", numbers_out, *options)
        self.assert_same(np.load(out), keys.ravel()[order], message)
        self.assert_same(np.load(where), order.astype("i8"), message)
        self.assert_same(np.load(numbers_out), order.astype("u4"), message)


class TopK(TopKTest):
    def test_keys_of_every_type(self):
        for dtype in DTYPES + [">i4", ">f8"]:
            base = random_items(dtype.lstrip(">"), 700, seed=3).astype(dtype)
            keys = np.random.default_rng(3).permutation(np.tile(base, 3))
            self.top_k(keys, 50)
            self.top_k(keys, 400, "--smallest", "--input-order")

    def test_counts_from_none_to_more_than_there_are(self):
        keys = random_items("i4", 1000)
        for k in (0, 1, 999, 1000, 5000):
            self.top_k(keys, k)
        for k in (0, 3):
            self.top_k(np.zeros(0, dtype="f4"), k)
        self.top_k(random_items("f4", 600).reshape(20, 30), 7, "--largest")

    def test_nan_and_zeros_are_ordered_as_in_sorts(self):
        keys = np.array([0.0, -0.0, np.nan, 1, -np.nan, -0.0, np.inf, -np.inf, 0.0], dtype="f4")
        for k in range(10):
            self.top_k(keys, k)
            self.top_k(keys, k, "--smallest")

    def test_values_and_rows_follow_their_keys(self):
        keys = random_items("f4", 900)
        order = order_of(keys)[:40]
        file, out = self.save(keys), self.path("out_values.npy")
        for dtype, row in (("f4", (3,)), ("u1", (3,)), ("f2", ()), ("u1", ()), ("f8", (2, 2)), (">f4", (4,)), (">f2", ())):
            values = random_items(dtype.lstrip(">"), 900 * int(np.prod(row)), seed=9).reshape(900, *row).astype(dtype)
            self.output_of("topk", "-k", 40, file, "--values", self.save(values, "values.npy"), "--values-out", out)
            self.assert_same(np.load(out), values[order], f"{dtype} {row}")

    def test_standard_input_forced_paths_and_large_results(self):
        keys = random_items("u4", 20_000)
        out = self.path("out.npy")
        with open(self.save(keys), "rb") as stream:
            self.output_of("topk", "-k", "1e2", "-", "-o", out, stdin=stream)
        self.assert_same(np.load(out), np.sort(keys)[::-1][:100])
        for options in (["--no-subgroups"], ["--limits", "minimum"]):
            self.top_k(keys, 300, *options)
        self.top_k(keys, 15_000)

    def test_json_says_what_was_found(self):
        answer = json.loads(self.output_of("topk", "-k", 7, self.save(random_items("f2", 100)), "--json", "-o",
                                           self.path("out.npy")))
        self.assertEqual((answer["items"], answer["k"], answer["dtype"]), (100, 7, "f2"))
        self.assertGreater(answer["seconds"], 0)


class Refusals(TopKTest):
    def test_requests_that_make_no_sense(self):
        keys, out = self.save(random_items("f4", 100)), self.path("out.npy")
        self.assert_refused(2, "topk needs --output, --indices-out or --values-out", "topk", "-k", 3, keys)
        self.assert_refused(2, "-k is required", "topk", keys, "-o", out)
        self.assert_refused(2, "--smallest", "topk", "-k", 3, "--smallest", "--largest", keys, "-o", out)
        self.assert_refused(2, "-k: \"many\" is no count", "topk", "-k", "many", keys, "-o", out)
        values = self.save(np.arange(99), "values.npy")
        self.assert_refused(2, "99 values", "topk", "-k", 3, keys, "--values", values, "--values-out", out)
        self.assert_refused(2, "items.npy: ", "topk", "-k", 3, self.save(np.array(["a"])), "-o", out)

    def test_keys_that_one_binding_does_not_hold(self):
        # A hole of a file: nobody reads it.
        count = (128 << 20) // 4 + 1
        path = self.path("items.npy")
        with open(path, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<u4", "fortran_order": False, "shape": (count,)})
            file.truncate(file.tell() + 4 * count)
        self.assert_refused(2, f"items.npy: {count} items of 4 bytes are larger than the device's limit of one binding",
                            "topk", "-k", 3, path, "-o", self.path("out.npy"), "--limits", "minimum")


class Explain(TopKTest):
    def test_plans_are_explained_and_run(self):
        text = self.output_of("explain", "topk", "--items", "2^22", "-k", 100, "--type", "u32", "--traits", "minimum")
        self.assertRegex(text, r"\Aplan top_k: \d+ passes")
        self.assertIn("the 100 largest of 4194304 u32, sorted", text)
        options = ("explain", "topk", "--items", 10, "-k", 3, "--type", "i32", "--dump")
        self.assertIn("\ntop_keys = [9, 8, 7]", self.output_of(*options))
        text = self.output_of(*options, "--smallest", "--threshold", "--indices", "--device-count")
        self.assertIn("\ntop_keys = [0, 1, 2]", text)
        self.assertIn("\nthreshold = [2]", text)


if __name__ == "__main__":
    unittest.main()
