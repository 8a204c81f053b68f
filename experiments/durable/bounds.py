#!/usr/bin/env python3
"""Closed forms of the study, and the balances that every simulation has to keep.

Independent of the simulator: everything is computed from the machine file and the parameters of a point.

    futago lab run durable --out out                                  # uses it as a filter
    python3 experiments/durable/bounds.py create out/durable/private.json ...
                                                                      # prints a table; exit code 1 if
                                                                      # a row breaks the rule

The first argument says what is judged:

create      Each create on one server is one message of one client and one change. So it costs a server
            `batch_ns` and `sockets.batch_ns` of `costs.server`, `request_ns.create`, and with a disk
            `disk.batch_ns`. With `sync = "always"` a client waits for a synchronization that begins after its
            change, so clients offer at most their number over `disk.latency`. The lower of the two is the
            bound, and nothing may be above it (creates that were under way when the measurement began, one a
            client at most, do not count).
OPERATION   Another operation: its balances alone, because it may concern several servers.
recovery    A client that needs a stopped server waits until it is back and has read its log: the second
            without servers, and `disk.recovered_record_ns` for each record. The column `wait s` is the 99th
            percentile of all creates: every client meets the stop in one of its 50, so the longest waits are
            2 % of them. It may be shorter than the bound by the pause of a client between two creates, because
            its wait begins after the stop, and longer by the pause before the client tries again.

Little's law must hold within 1 % at every resource for which requests wait (their number is uses times
waiting). Rows where it does not are `UNBALANCED`.
"""

import pathlib
import sys
import tomllib

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import judging  # noqa: E402
from judging import BALANCE, little  # noqa: E402

AWAY_S = 1.0
THINK_S = 0.01
# The longest pause of a client before it tries again, and the time of its create.
RETRY_S = 1.0
MACHINE = tomllib.loads(pathlib.Path(__file__).with_name("machine.toml").read_text(encoding="utf-8"))


def balances(point, operation):
    worst = little(phase for phase in point["phases"] if operation in phase["operations"])
    return {"Little %": round(100 * worst, 3), "verdict": "UNBALANCED" if worst > BALANCE else "ok"}


def create(point):
    parameters, disk, costs = point["parameters"], MACHINE["disk"], MACHINE["costs"]["server"]
    on_disk = parameters["cluster.store"] == "disk"
    create_ns = costs["batch_ns"] + costs["sockets"]["batch_ns"] + costs["request_ns"]["create"]
    bound = parameters["cluster.servers"] * 1e9 / (create_ns + on_disk * disk["batch_ns"])
    if on_disk and parameters["cluster.sync"] == "always":
        bound = min(bound, parameters["cluster.clients"] * 1e9 / disk["latency"]["constant_ns"])
    of_bound = point["throughput"]["create"] / bound
    row = {"bound": round(bound, 1), "of bound %": round(100 * of_bound, 1)} | balances(point, "create")
    window_s = next(phase["measured_s"] for phase in point["phases"] if "create" in phase["operations"])
    if of_bound > 1 + parameters["cluster.clients"] / window_s / bound:
        row["verdict"] = "ABOVE"
    return row


def recovery(point):
    records = point["parameters"]["machine.disk.held_records"]
    read_s = records * MACHINE["disk"]["recovered_record_ns"] / 1e9
    wait_s, bound = point["latency_us"]["create"]["p99"] / 1e6, AWAY_S + read_s
    row = {"files": records // 2, "log s": round(read_s, 3), "wait s": round(wait_s, 3)}
    row |= {"bound": round(bound, 3), "beyond s": round(wait_s - bound, 3)} | balances(point, "create")
    if not -THINK_S <= wait_s - bound <= RETRY_S:
        row["verdict"] = "OUTSIDE"
    return row


def main():
    judges = {"create": create, "recovery": recovery}
    judge = judges.get(sys.argv[1], lambda point: balances(point, sys.argv[1]))
    return judging.run(lambda _, point: judge(point))


if __name__ == "__main__":
    sys.exit(main())
