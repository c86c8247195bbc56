#!/usr/bin/env python3
"""Prints the measurements of `run.sh`: ours, the best other engine and the floor in ns, and runs of nodes per operation."""
import sys
from math import isnan

FLOOR, OURS = "ref", "millstream"
TWO_HALVES = ("build/node", "first/node")
NO_TIMES = ("teardown", "10 layers: recomputes")


def main():
    rows = {}
    failed = {}
    with open(sys.argv[1]) as lines:
        for line in lines:
            engine, scenario, metric, median, _, runs, note = line.rstrip("\n").split("\t")
            if metric == "FAILED" or isnan(float(median)):
                failed.setdefault(scenario, []).append(f"{engine} ({note})")
            elif metric in TWO_HALVES:
                # Some engines evaluate while they build.
                built = rows.setdefault((scenario, "build and first read, a node"), {})
                before = built.get(engine, (0.0, 0.0, ""))
                built[engine] = (before[0] + float(median), before[1] + float(runs), "")
            elif metric not in NO_TIMES:
                rows.setdefault((scenario, metric), {})[engine] = (float(median), float(runs), note)
    print("| | | ours | runs | best other | | ratio | floor |")
    print("|---|---|---|---|---|---|---|---|")
    behind = []
    for (scenario, metric), found in rows.items():
        if OURS not in found:
            continue
        ours, runs, note = found[OURS]
        others = sorted((row[0], name, row[2]) for name, row in found.items() if name not in (FLOOR, OURS))
        floor = f"{found[FLOOR][0]:,.1f}" if FLOOR in found else ""
        if not others:
            print(f"| {scenario} | {metric} | {ours:,.1f} | {runs:,.0f} | | | | {floor} |")
            continue
        best, name, _ = others[0]
        ratio = ours / best if best else float("inf")
        if ratio > 1:
            behind.append(f"{scenario} {metric}: {ratio:.2f} of {name}")
        print(f"| {scenario} | {metric} {note} | {ours:,.1f} | {runs:,.0f} | {best:,.1f} | {name} | {ratio:.3f} | {floor} |")
    print("\nbehind:", "; ".join(behind) or "nowhere")
    for scenario, engines in failed.items():
        print(f"failed in {scenario}: {', '.join(engines)}")


if __name__ == "__main__":
    main()
