"""What the scripts of several studies have in common: Little's law, and how points are judged."""

import json
import pathlib
import sys

BALANCE = 0.01


def little(phases):
    """The largest deviation from Little's law, over all resources of some phases."""
    worst = 0.0
    for phase in phases:
        for resource in phase["resources"].values():
            expected = resource["uses_per_s"] * resource["wait_us"] / 1e6
            if expected > 0.1:
                worst = max(worst, abs(resource["queue_mean"] / expected - 1))
    return worst


def run(judge):
    """Judges the points on the standard input, or those of files; `judge` gets all points and one.
    Returns the exit code."""
    if len(sys.argv) == 2:
        points = json.load(sys.stdin)["points"]
        json.dump([judge(points, point) for point in points], sys.stdout)
        return 0
    wrong = 0
    for path in sys.argv[2:]:
        points = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["points"]
        rows = [(point["parameters"], judge(points, point)) for point in points]
        for parameters, row in rows:
            print(path, json.dumps(parameters), json.dumps(row))
        broken = sum(row["verdict"] != "ok" for _, row in rows)
        print(f"{path}: {len(rows)} points, {broken} break the rule")
        wrong += broken
    return int(wrong > 0)
