"""Which files the commands of the upsweep program read and write: none of them overwrites what it reads."""

import io
import os
import subprocess
import unittest

import numpy as np

from cli_case import CliTest, PROGRAM

# Each command with inputs of its own; IN and OUT stand for the files at test, A to D for others.
COMMANDS = (
    ("reduce", "IN", "-o", "OUT"),
    ("reduce", "A", "--op-wgsl", "IN", "--op-name", "f", "--identity", "0u", "-o", "OUT"),
    ("scan", "IN", "-o", "OUT"),
    ("select", "IN", "--where", "x > 0", "-o", "OUT"),
    ("select", "IN", "--where", "x > 0", "--indices", "OUT"),
    ("unique", "IN", "-o", "OUT"),
    ("unique", "IN", "-o", "B", "--indices", "OUT"),
    ("rle", "IN", "--values", "OUT"),
    ("rle", "IN", "--lengths", "OUT"),
    ("rle", "IN", "--offsets", "OUT"),
    ("histogram", "IN", "-o", "OUT"),
    ("histogram", "IN", "--svg", "OUT"),
    ("histogram", "IN", "--write-edges", "OUT"),
    ("histogram", "A", "--edges", "IN", "-o", "OUT"),
    ("histogram", "A", "--weights", "IN", "-o", "OUT"),
    ("sort", "IN", "-o", "OUT"),
    ("sort", "A", "--values", "IN", "--values-out", "OUT"),
    ("argsort", "IN", "-o", "OUT"),
    ("topk", "IN", "-k", 1, "-o", "OUT"),
    ("topk", "IN", "-k", 1, "--indices-out", "OUT"),
    ("topk", "A", "-k", 1, "--values", "IN", "--values-out", "OUT"),
    ("spmv", "IN", "-o", "OUT"),
    ("spmv", "M", "IN", "-o", "OUT"),
    ("solve", "IN", "A", "-o", "OUT"),
    ("solve", "M", "IN", "-o", "OUT"),
    ("solve", "M", "A", "--guess", "IN", "-o", "OUT"),
    ("pagerank", "IN", "-o", "OUT"),
    ("bench", "spmv", "--matrix-file", "IN", "--json", "OUT"),
)


class Files(CliTest):
    def setUp(self):
        super().setUp()
        self.a = self.save(np.arange(3, dtype="f4"), "a.npy")
        self.m = self.path("m.mtx")
        with open(self.m, "w") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 2\n")

    def bytes_of(self, path):
        with open(path, "rb") as file:
            return file.read()

    def with_files(self, command, read, written):
        names = {"IN": read, "OUT": written, "A": self.a, "B": self.path("b.npy"), "M": self.m}
        return [names.get(word, word) for word in command]

    def test_no_command_overwrites_what_it_reads(self):
        for command in COMMANDS:
            read = self.save(np.arange(3, dtype="f4"), "in.npy")
            before = self.bytes_of(read)
            link, twin = self.path("link.npy"), self.path("twin.npy")
            if not os.path.exists(link):
                os.symlink("in.npy", link)
            if os.path.exists(twin):
                os.remove(twin)
            os.link(read, twin)
            for written in (read, link, twin, os.path.join(self.folder.name, ".", "in.npy")):
                with self.subTest(command=command, written=written):
                    self.assert_refused(2, f"would overwrite {written}, an input", *self.with_files(command, read, written))
            self.assertEqual(self.bytes_of(read), before)

    def test_standard_input_is_known_by_its_file(self):
        read = self.save(np.arange(3, dtype="f4"), "in.npy")
        for name in ("-", "/dev/stdin"):
            with open(read, "rb") as file:
                self.assert_refused(2, "would overwrite", "sort", name, "-o", read, stdin=file)
        np.testing.assert_array_equal(np.load(read), np.arange(3))

    def test_a_minus_is_no_file_to_write(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assert_refused(2, " -: results go to a file", *self.with_files(command, self.a, "-"),
                                    cwd=self.folder.name)
        self.assertFalse(os.path.exists(self.path("-")))

    def test_standard_input_is_read_once(self):
        for command in (("sort", "-", "--values", "-", "--values-out", "OUT"), ("spmv", "-", "-", "-o", "OUT"),
                        ("solve", "M", "-", "--guess", "/dev/stdin", "-o", "OUT"), ("histogram", "-", "--edges", "-", "--plot")):
            self.assert_refused(2, "cannot both be standard input", *self.with_files(command, self.a, self.path("o.npy")),
                                stdin=subprocess.DEVNULL)

    def test_every_input_may_be_standard_input(self):
        edges = self.save(np.array([0.0, 1.0, 5.0]), "edges.npy")
        out = self.path("o.npy")
        with open(edges, "rb") as file:
            self.output_of("histogram", self.a, "--edges", "-", "-o", out, stdin=file)
        np.testing.assert_array_equal(np.load(out), [1, 2])
        with open(self.a, "rb") as file:
            self.output_of("spmv", self.m, "-", "-o", out, "-q", stdin=file)
        np.testing.assert_array_equal(np.load(out), [0, 0, 0])

    def test_text_is_not_mixed_with_a_file_on_standard_output(self):
        commands = (("scan", "A", "-o", "OUT", "--total"), ("scan", "A", "-o", "OUT", "--json"),
                    ("reduce", "A", "-o", "OUT", "--json"), ("select", "A", "--where", "true", "--indices", "OUT", "--json"),
                    ("unique", "A", "-o", "OUT", "--json"), ("rle", "A", "--lengths", "OUT", "--json"),
                    ("histogram", "A", "-o", "OUT", "--plot"), ("histogram", "A", "--svg", "OUT", "--json"),
                    ("sort", "A", "-o", "OUT", "--json"), ("argsort", "A", "-o", "OUT", "--json"),
                    ("topk", "A", "-k", 1, "-o", "OUT", "--json"), ("spmv", "M", "-o", "OUT", "--json"),
                    ("spmv", "M", "-o", "OUT", "--repeat", 3), ("solve", "M", "A", "-o", "OUT", "--json"),
                    ("pagerank", "M", "-o", "OUT", "--top", 2), ("pagerank", "M", "-o", "OUT", "--json"))
        for command in commands:
            for name in ("/dev/stdout", "/dev/fd/1"):
                with self.subTest(command=command):
                    printing = [word for word in command if word in ("--total", "--json", "--plot", "--top", "--repeat")]
                    self.assert_refused(2, f" {name}: {printing[0]} prints text there; name a file",
                                        *self.with_files(command, self.a, name))
        link = self.path("link")
        os.symlink("/dev/stdout", link)
        self.assert_refused(2, f"{link}: --total prints text there; name a file", "scan", self.a, "-o", link, "--total")
        with open(self.path("o.npy"), "wb") as output:
            done = subprocess.run([PROGRAM, "scan", self.a, "-o", output.name, "--total"], stdout=output,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--total prints text there", done.stderr)
        self.assert_refused(2, "--values and --lengths both go to standard output", "rle", self.a, "--values",
                            "/dev/stdout", "--lengths", "/dev/fd/1")
        # A file beside it is as good as before.
        self.assertEqual(self.output_of("scan", self.a, "-o", self.path("o.npy"), "--total"), "3.0\n")
        self.output_of("scan", self.a, "-o", "/dev/null", "--total")

    def test_options_that_print_nothing_leave_standard_output_to_a_file(self):
        for command in (("spmv", self.m, "--repeat", "0"), ("pagerank", self.m, "--top", "0"), ("scan", self.a, "--json=false")):
            with self.subTest(command=command):
                done = subprocess.run([PROGRAM, *command, "-o", "/dev/stdout"], capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(np.load(io.BytesIO(done.stdout)).shape, (3,))

    def test_no_file_goes_to_standard_error(self):
        expected = ": standard error goes there, with notes and progress; name another file"
        for command in COMMANDS:
            for name in ("/dev/stderr", "/dev/fd/2"):
                with self.subTest(command=command, name=name):
                    self.assert_refused(2, f" {name}{expected}", *self.with_files(command, self.a, name))
        for output in (self.path("o.npy"), "/dev/stdout"):
            with open(self.path("o.npy"), "wb") as file:
                done = subprocess.run([PROGRAM, "spmv", self.m, "-o", output], stdout=file, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(self.bytes_of(self.path("o.npy")).decode(), f"upsweep: --output {output}{expected}\n")
        with open("/dev/null", "w") as nowhere:
            subprocess.run([PROGRAM, "spmv", self.m, "-o", "/dev/null"], stderr=nowhere, check=True)

    def test_devices_may_be_read_and_written(self):
        for _ in range(2):
            self.output_of("sort", self.a, "-o", "/dev/null", "--values", self.a, "--values-out", "/dev/null")


if __name__ == "__main__":
    unittest.main()
