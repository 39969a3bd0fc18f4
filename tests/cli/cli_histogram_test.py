"""upsweep histogram, as a user runs it, against numpy.histogram."""

import json
import os
import re
import unittest
import xml.etree.ElementTree

import numpy as np

from cli_case import CliTest, random_items


class Histogram(CliTest):
    def bins_of(self, items, *options, name="items"):
        out = self.path(f"{name}.out.npy")
        self.output_of("histogram", *options, "-o", out, self.save(items, f"{name}.npy"))
        return np.load(out)

    def check(self, items, *options, **numpy_options):
        found = self.bins_of(items, *options)
        wanted = np.histogram(items, **numpy_options)[0]
        self.assertEqual((found.dtype, found.shape), (np.dtype("i8"), wanted.shape), options)
        np.testing.assert_array_equal(found, wanted, str(options))

    def test_every_type_is_counted_as_numpy_counts_it(self):
        for dtype in ["u1", "u2", "u4", "i1", "i2", "i4", "f4"]:
            items = random_items(dtype, 3001)
            self.check(items, "--bins", 37, bins=37)
            self.check(items, "--bins", "2^7", bins=128)
            low, high = float(items.min()) * 0.75, float(items.max()) * 0.6 + 1
            self.check(items, "--bins", 100, "--range", repr(low), repr(high), bins=100, range=(low, high))
        flags = random_items("b1", 500)
        np.testing.assert_array_equal(self.bins_of(flags, "--bins", 2), np.histogram(flags.astype("u1"), bins=2)[0])
        # NumPy gives halves f16 edges; ours are those of the same values in f4.
        halves = random_items("f2", 3001)
        np.testing.assert_array_equal(self.bins_of(halves, "--bins", 50), np.histogram(halves.astype("f4"), bins=50)[0])
        wide = random_items("f8", 1000)
        np.testing.assert_array_equal(self.bins_of(wide, "--bins", 50, "--cast", "f4"),
                                      np.histogram(wide.astype("f4"), bins=50)[0])

    def test_ranges_of_no_width_and_of_nothing_are_those_of_numpy(self):
        self.check(np.full(7, 3, dtype="f4"), bins=10)
        self.check(np.full(7, 3, dtype="u1"), "--bins", 4, bins=4)
        self.check(np.zeros(0, dtype="f4"), "--bins", 5, bins=5)
        self.check(np.array([-1, 0, 1], dtype="f4"), "--range", "-1", "1", range=(-1, 1))

    def test_what_is_outside_is_not_counted(self):
        items = np.array([np.nan, -5, 0.05, 0.95, 1, 2, -np.inf, np.inf], dtype="f4")
        self.check(items, "--range", 0, 1, bins=10, range=(0, 1))
        # The file between options, as in the help.
        self.output_of("histogram", "--range", 0, 1, self.save(items), "-o", self.path("o.npy"))
        why = "some items are NaN, so that they have no range for bins; give --range"
        self.assert_refused(2, why, "histogram", "-o", self.path("o.npy"), self.save(items))

    def test_edges_come_from_a_file(self):
        items = random_items("f4", 2000)
        edges = np.array([-3, -1, -0.1, 0, 0, 2.5, 7])
        for stored in (edges, edges.astype("f4")):
            np.save(self.path("edges.npy"), stored)
            self.check(items, "--edges", self.path("edges.npy"), bins=stored.astype("f8"))
        np.save(self.path("edges.npy"), edges[::-1])
        self.assert_refused(2, f"--edges {self.path('edges.npy')}: Edges must ascend", "histogram", "--edges",
                            self.path("edges.npy"), "-o", self.path("o.npy"), self.path("items.npy"))
        self.assert_refused(2, "excludes", "histogram", "--edges", self.path("edges.npy"), "--bins", 3, "-o",
                            self.path("o.npy"), self.path("items.npy"))

    def test_edges_are_written(self):
        items = random_items("f4", 100)
        out = self.path("edges.npy")
        self.output_of("histogram", "--bins", 7, "--range", "0.1", "0.9", "--write-edges", out, self.save(items))
        written = np.load(out)
        self.assertEqual(written.dtype, np.dtype("f8"))
        np.testing.assert_array_equal(written, np.linspace(0.1, 0.9, 8).astype("f4"))

    def test_weights_are_added(self):
        items = random_items("f4", 3000)
        weights = random_items("u4", 3000, seed=2)
        out = self.path("out.npy")

        def sums(weights):
            np.save(self.path("weights.npy"), weights)
            self.output_of("histogram", "--bins", 20, "--weights", self.path("weights.npy"), "-o", out,
                           self.save(items))
            return np.load(out)

        found = sums(weights)
        self.assertEqual(found.dtype, np.dtype("u4"))
        np.testing.assert_array_equal(found, np.histogram(items, bins=20, weights=weights.astype("u8"))[0].astype("u8")
                                      .astype("u4"))
        numbers = random_items("f4", 3000, seed=3)
        found = sums(numbers)
        self.assertEqual(found.dtype, np.dtype("f4"))
        np.testing.assert_allclose(found, np.histogram(items, bins=20, weights=numbers.astype("f8"))[0], atol=1e-3)
        # Units as fine as the sum of magnitudes allows.
        for scale in (1e-9, 1e12, 1e14):
            scaled = (numbers * scale).astype("f4")
            np.testing.assert_allclose(sums(scaled), np.histogram(items, bins=20, weights=scaled.astype("f8"))[0],
                                       rtol=1e-5, atol=1e-6 * scale)
        np.save(self.path("weights.npy"), np.where(np.arange(items.size) == 7, np.inf, numbers).astype("f4"))
        self.assert_refused(2, "too large for sums in fixed point", "histogram", "--weights", self.path("weights.npy"), "-o",
                            out, self.save(items))
        self.assert_refused(2, "weights do not go with", "histogram", "--weights", self.path("weights.npy"), "-o", out,
                            self.save(items[:10], "few.npy"))
        np.save(self.path("wide.npy"), numbers.astype("f8"))
        self.assert_refused(2, "weights are u1, u2, u4, f2 or f4", "histogram", "--weights", self.path("wide.npy"), "-o",
                            out, self.path("items.npy"))

    def test_channels_are_the_last_dimension(self):
        photo = random_items("u1", 31 * 17 * 3).reshape(31, 17, 3)
        found = self.bins_of(photo, "--channels", 3, "--bins", 64, "--range", 0, 256)
        self.assertEqual(found.shape, (3, 64))
        for channel in range(3):
            np.testing.assert_array_equal(found[channel], np.histogram(photo[..., channel], bins=64, range=(0, 256))[0])
        self.assert_refused(2, "the last dimension is 3, not 4 channels", "histogram", "--channels", 4, "-o",
                            self.path("o.npy"), self.path("items.npy"))

    def test_many_bins_are_counted(self):
        items = random_items("u2", 20000)
        self.check(items, "--bins", 65536, "--range", 0, 65536, bins=65536, range=(0, 65536))
        self.check(random_items("f4", 20000), "--bins", 100000, "--range", -9, 9, bins=100000, range=(-9, 9))

    def test_standard_output_has_a_plot_or_json(self):
        self.assert_refused(2, "--plot excludes --json", "histogram", "--plot", "--json", self.save(np.ones(3, "f4")))

    def test_bars_are_plotted(self):
        items = np.array([0, 0, 0, 0, 1, 1, 2], dtype="u1")
        text = self.output_of("histogram", "--bins", 3, "--range", 0, 3, "--plot", self.save(items))
        rows = text.splitlines()
        self.assertEqual(len(rows), 3)
        full = "\u2588"
        self.assertRegex(rows[0], rf"^0 to 1  {full}{{60}} 4$")
        self.assertRegex(rows[1], rf"^1 to 2  {full}{{30}} 2$")
        self.assertRegex(rows[2], rf"^2 to 3  {full}{{15}} 1$")
        many = self.output_of("histogram", "--bins", 1000, "--plot", self.path("items.npy")).splitlines()
        self.assertLessEqual(len(many), 40)
        self.assertEqual(sum(int(row.split()[-1]) for row in many), 7)
        nothing = self.output_of("histogram", "--bins", 2, "--range", 7, 9, "--plot", self.path("items.npy"))
        self.assertEqual(nothing.splitlines()[0], "7 to 8  0")

    def test_a_picture_is_written(self):
        svg = self.path("bars.svg")
        items = random_items("f4", 1000)
        self.output_of("histogram", "--bins", 50, "--svg", svg, self.save(items, "a&b<.npy"))
        picture = xml.etree.ElementTree.parse(svg).getroot()
        bars = picture.findall("{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}rect")
        self.assertEqual(len(bars), 50)
        heights = np.array([float(bar.get("height")) for bar in bars])
        counts = np.histogram(items, bins=50)[0]
        np.testing.assert_allclose(heights, counts / counts.max() * 320, atol=0.01)

    def test_json_has_the_range_and_the_counts(self):
        items = random_items("f4", 1000)
        answer = json.loads(self.output_of("histogram", "--bins", 5, "--range", -1, 1, "--json", self.save(items)))
        self.assertEqual((answer["items"], answer["bins"], answer["range"], answer["dtype"]), (1000, 5, [-1, 1], "f4"))
        self.assertEqual(answer["counted"], np.histogram(items, bins=5, range=(-1, 1))[0].sum())
        self.assertIsInstance(answer["counted"], int)

    def test_requests_that_make_no_sense_are_refused(self):
        good = self.save(np.arange(10, dtype="f4"))
        out = self.path("out.npy")
        self.assert_refused(2, "histogram needs --output", "histogram", good)
        self.assert_refused(2, "--bins 10 --range 2 1: Even bins need a finite range whose lower end is below the upper "
                            "one, not 2 to 1", "histogram", "--range", 2, 1, "-o", out, good)
        self.assert_refused(2, "--bins 0: A histogram has 1 to 16777216 bins, not 0", "histogram", "--bins", 0, "-o", out, good)
        self.assert_refused(2, '--bins: "many" is no count', "histogram", "--bins", "many", "-o", out, good)
        self.assert_refused(2, "--bins", "histogram", "--bins", "2^40", "-o", out, good)
        self.assert_refused(2, "--range", "histogram", "--range", "low", 2, "-o", out, good)
        self.assert_refused(2, "--cast f4", "histogram", "-o", out, self.save(np.arange(3.0), "wide.npy"))
        self.assert_refused(2, "convert them to 32 bits", "histogram", "-o", out, self.save(np.arange(3), "long.npy"))
        self.assert_refused(2, "No such file", "histogram", "-o", out, self.path("missing.npy"))
        self.assert_refused(2, "same file", "histogram", "-o", out, "--svg", out, good)
        self.assertFalse(os.path.exists(out))

    def test_plans_are_explained(self):
        text = self.output_of("explain", "histogram", "--bins", 10, "--items", 100, "--dump")
        self.assertIn("10 even bins from 0 to 10 of f32 samples", text)
        self.assertIn("output = [10, 10, 10, 10, 10, 10, 10, 10, 10, 10]", text)
        for kind in ("u1", "u2", "u16", "f2", "f16", "i4", "i32", "f4"):
            self.assertIn("output = [10, 10,", self.output_of("explain", "histogram", "--bins", 10, "--items", 100,
                                                              "--type", kind, "--dump"))
        text = self.output_of("explain", "histogram", "--bins", 1000000, "--items", "2^20", "--traits", "minimum", "--wgsl")
        self.assertIn("a cache of 1024 slots", text)
        self.assertTrue(re.search(r"fn add_to_cell", text))
        self.assertEqual(text, self.output_of("explain", "histogram", "--bins", 1000000, "--items", "2^20", "--traits",
                                              "minimum", "--wgsl", "--type", "f4"))
        self.assert_refused(2, "--type u8 may be 8 bits, or 8 bytes as in NumPy; write u1 or u64", "explain",
                            "histogram", "--items", 5, "--type", "u8")
        self.assert_refused(2, "Samples are u8", "explain", "histogram", "--items", 5, "--type", "vec2f")


if __name__ == "__main__":
    unittest.main()
