#!/usr/bin/env python3
"""Compare two upsweep-bench-1 reports: compare.py OURS.json PEER.json [--markdown]

Results are joined on primitive, operator, type and items. Each side is represented by the lowest
median among its correct results of one kind: "call" against "call", and "amortised" against the
better of "amortised" and "graph". The steps "cpu" and "cpu_threads" of a ladder represent nobody.
Exit status: 0, or 1 when any result was incorrect, or 2 when the reports cannot be compared.
"""

import argparse
import json
import sys

SCHEMA = "upsweep-bench-1"
HOST_STEPS = ("cpu", "cpu_threads")
KIND_OF_METHOD = {"call": "call", "amortised": "amortised", "graph": "amortised"}
RESULT_FIELDS = (
    "primitive", "operator", "type", "step", "items", "method",
    "median_ms", "min_ms", "max_ms", "bytes_moved", "correct",
)
HEADER = (
    "items", "kind", "ours ms", "ours min..max", "peer ms", "peer min..max", "ratio",
    "ours/copy", "ours/read", "peer/copy", "peer/read", "ours by", "peer by",
)
ABSENT = "-"
INCORRECT = "INCORRECT"


class ReportError(Exception):
    """A report that cannot be compared."""


def check_report(report, name):
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise ReportError(f"{name}: the schema is not {SCHEMA}")
    results = report.get("results")
    if not isinstance(results, list):
        raise ReportError(f"{name}: no list of results")
    for index, result in enumerate(results):
        missing = [field for field in RESULT_FIELDS if field not in result]
        if missing:
            raise ReportError(f"{name}: result {index} lacks {', '.join(missing)}")
        if result["method"] not in KIND_OF_METHOD:
            raise ReportError(f"{name}: result {index} has unknown method {result['method']!r}")
    return report


def load_report(path):
    try:
        with open(path, encoding="utf-8") as file:
            return check_report(json.load(file), path)
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: {error}") from error


def is_correct(result):
    # A run that did not check itself (null) has not shown that it is right.
    return result["correct"] is True


def join_key(result):
    return (
        result["primitive"], result["operator"], result["type"], result["items"],
        KIND_OF_METHOD[result["method"]],
    )


def group_results(report):
    groups = {}
    for result in report["results"]:
        if result["step"] in HOST_STEPS:
            continue
        groups.setdefault(join_key(result), []).append(result)
    return groups


def best(results):
    """The correct result with the lowest median, or None. A median of 0 was not measured."""
    usable = [r for r in results if is_correct(r) and r["median_ms"] > 0]
    return min(usable, key=lambda r: r["median_ms"], default=None)


def bytes_per_ms(entry, byte_field):
    if not entry or not entry.get(byte_field) or not entry.get("median_ms"):
        return None
    return entry[byte_field] / entry["median_ms"]


def share(result, report, reference):
    """The result's rate over the copy or read rate that the same report measured."""
    rate = bytes_per_ms(result, "bytes_moved")
    reference_rate = bytes_per_ms(report.get(reference), "bytes")
    return rate / reference_rate if rate and reference_rate else None


def format_ms(value):
    return f"{value:.5f}"


def format_share(value):
    return ABSENT if value is None else f"{100 * value:.1f}%"


def format_items(items):
    power = items.bit_length() - 1
    return f"2^{power}" if items >= 1024 and items == 1 << power else str(items)


def side_cells(result, candidates):
    if result is None:
        return (INCORRECT if any(not is_correct(r) for r in candidates) else ABSENT), ABSENT
    spread = f"{format_ms(result['min_ms'])}..{format_ms(result['max_ms'])}"
    return format_ms(result["median_ms"]), spread


def method_cell(result):
    return ABSENT if result is None else f"{result['method']}/{result['step']}"


def row_cells(key, ours, peer, our_results, peer_results):
    our_best = best(our_results)
    peer_best = best(peer_results)
    ratio = ABSENT
    if our_best and peer_best:
        ratio = f"{peer_best['median_ms'] / our_best['median_ms']:.3f}"
    return (
        format_items(key[3]), key[4],
        *side_cells(our_best, our_results), *side_cells(peer_best, peer_results), ratio,
        format_share(share(our_best, ours, "copy")), format_share(share(our_best, ours, "read")),
        format_share(share(peer_best, peer, "copy")), format_share(share(peer_best, peer, "read")),
        method_cell(our_best), method_cell(peer_best),
    )


def tables(ours, peer):
    """(primitive, operator, type) -> rows of cells; and the keys that only one side has."""
    our_groups = group_results(ours)
    peer_groups = group_results(peer)
    joined = {}
    for key in sorted(our_groups.keys() & peer_groups.keys()):
        row = row_cells(key, ours, peer, our_groups[key], peer_groups[key])
        joined.setdefault(key[:3], []).append(row)
    return joined, sorted(our_groups.keys() - peer_groups.keys()), sorted(
        peer_groups.keys() - our_groups.keys())


def format_table(rows, markdown):
    lines = [HEADER, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    padded = [[cell.rjust(width) for cell, width in zip(line, widths)] for line in lines]
    if not markdown:
        return ["  ".join(line).rstrip() for line in padded]
    rule = "| " + " | ".join("-" * (width - 1) + ":" for width in widths) + " |"
    piped = ["| " + " | ".join(line) + " |" for line in padded]
    return [piped[0], rule, *piped[1:]]


def describe(report, label):
    device = report.get("device") or {}
    lines = [
        f"{label}: {report.get('program', '?')} {report.get('version', '?')}, "
        f"{device.get('name', '?')}, {device.get('backend', '?')}, "
        f"driver {device.get('driver', '?')}, {report.get('date', '?')}"
    ]
    for reference in ("copy", "read"):
        rate = bytes_per_ms(report.get(reference), "bytes")
        text = ABSENT if rate is None else f"{rate / 1e6:.1f} GB/s"
        lines.append(f"{label} {reference}: {text}")
    return lines


def warnings(ours, peer):
    found = []
    for field in ("name", "driver"):
        our_value = (ours.get("device") or {}).get(field)
        peer_value = (peer.get("device") or {}).get(field)
        if our_value != peer_value:
            found.append(f"WARNING: device {field} differs: {our_value!r} and {peer_value!r}")
    for reference in ("copy", "read"):
        sizes = [(report.get(reference) or {}).get("bytes") for report in (ours, peer)]
        if sizes[0] != sizes[1]:
            found.append(f"WARNING: {reference} bytes differ: {sizes[0]} and {sizes[1]}")
    return found


def incorrect_lines(report, label):
    return [
        f"{INCORRECT}: {label} {r['primitive']} {r['operator']} {r['type']} "
        f"{format_items(r['items'])} {r['method']}/{r['step']}"
        for r in report["results"] if not is_correct(r)
    ]


def compare(ours, peer, markdown=False):
    """The lines to print and the lines about incorrect results."""
    joined, only_ours, only_peer = tables(ours, peer)
    if not joined:
        raise ReportError("the reports have no result in common")
    bullet = "- " if markdown else ""
    lines = [bullet + line for line in
             describe(ours, "ours") + describe(peer, "peer") + warnings(ours, peer)]
    lines += ["", "ratio = peer ms / ours ms (above 1: ours is faster); ours/copy and the like: "
              "rate over the same report's copy or read rate"]
    for (primitive, operator, item_type), rows in joined.items():
        title = f"{primitive} {operator} {item_type}"
        lines += ["", f"### {title}" if markdown else title]
        if markdown:
            lines.append("")
        lines += format_table(rows, markdown)
    for label, keys in (("ours", only_ours), ("peer", only_peer)):
        if keys:
            lines += ["", f"only in {label}:"]
            lines += [f"- {' '.join(key[:3])} {format_items(key[3])} {key[4]}" for key in keys]
    return lines, incorrect_lines(ours, "ours") + incorrect_lines(peer, "peer")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("peer")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args(arguments)
    try:
        lines, incorrect = compare(load_report(options.ours), load_report(options.peer),
                                   options.markdown)
    except ReportError as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    if incorrect:
        print()
        print("\n".join(incorrect))
        print(f"compare.py: {len(incorrect)} INCORRECT results", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
