"""What tests of the upsweep program share. UPSWEEP_PROGRAM is the program, UPSWEEP_EXPECT_ADAPTER (lavapipe or
swiftshader) the adapter that must answer.
"""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np

PROGRAM = os.environ["UPSWEEP_PROGRAM"]
ADAPTER = {"lavapipe": "llvmpipe", "swiftshader": "SwiftShader"}[os.environ["UPSWEEP_EXPECT_ADAPTER"]]


def keep_driver_loaded():
    """For leak checkers: what an unloaded driver still holds in its static variables looks like a leak."""
    manifest = os.environ["VK_DRIVER_FILES"]
    with open(manifest) as file:
        library = json.load(file)["ICD"]["library_path"]
    if library.startswith("."):
        library = os.path.join(os.path.dirname(manifest), library)
    os.environ["LD_PRELOAD"] = library


if os.environ.get("UPSWEEP_KEEP_DRIVER"):
    keep_driver_loaded()

DTYPES = ["b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]
BITWISE = {"and", "or", "xor"}


def is_defined(op, dtype):
    if op in BITWISE:
        return dtype[0] != "f"
    return dtype != "f8" or op not in ("sum", "product")


def random_items(dtype, count, seed=1):
    rng = np.random.default_rng(seed)
    if dtype == "b1":
        return rng.integers(0, 2, count).astype(bool)
    if dtype[0] == "f":
        return rng.normal(0, 3, count).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def save(self, array, name="items.npy"):
        np.save(self.path(name), array)
        return self.path(name)

    def run_program(self, *arguments, **options):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)

    def output_of(self, *arguments, **options):
        done = self.run_program(*arguments, **options)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def assert_refused(self, exit_code, expected, *arguments, **options):
        """Nothing on stdout, and one line on stderr that contains `expected`."""
        done = self.run_program(*arguments, **options)
        self.assertEqual(done.returncode, exit_code, f"{arguments}: {done.stderr}")
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aupsweep: [^\n]+\n\Z")
        self.assertIn(expected, done.stderr)
