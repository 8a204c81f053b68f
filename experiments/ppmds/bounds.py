#!/usr/bin/env python3
"""The closed-form bound of file creation on PPMDSsim's machine, and how far a simulation is from it.

Independent of the simulator: everything is computed from the parameters of the paper (below) and
those that a point varies.

    futago lab run ppmds --out out                                   # uses it as a filter
    python3 experiments/ppmds/bounds.py out/ppmds/fig5.json ...      # prints a table; exit code 1 if
                                                                     # a row breaks the rule

The rule, fixed beforehand: a point is within 2 % of its bound wherever the load that clients offer is
below 0.7 or above 1.3 of what servers take, and never above the bound. Rows in between are marked
`excluded`. Operations that began before the measured part and end in it were served before it: what they
add, at most one a client, is not above the bound.

The bound knows no chance. Where names are dealt out by a hash as if at random, several clients meet at
one server while another is idle. How much that may cost, mean value analysis tells (Reiser and
Lavenberg, JACM 1980): it is exact for a closed network with random ways and exponential service, and
constant service, as here, is never slower. Such points (`names = "numbered"`) must lie between that and
the bound; `random at least` shows it beside all others, too.

Balances must hold within 1 % at every resource, wherever the point lies: Little's law (those who wait are
uses times waiting), and that of flows (each create uses everything once, and busy time is uses times
service). Rows that break them are `UNBALANCED`.
"""

import json
import sys

# Kirii, Tatebe, Ross: Evaluation of the distributed metadata server PPMDS with CODES/ROSS.
PAPER = {
    "machine.network.startup_ns": 32_000,
    "machine.store.latency.constant_ns": 500_000,
    "cluster.servers": 2,
    "cluster.clients": 88,
}
MESSAGE_BYTES = 512
CLIENT_BYTES_PER_S = 125e6
SERVER_BYTES_PER_S = 1250e6
TRUNK_BYTES_PER_S = None  # non-blocking: the link between the switches serialises nothing
HOPS = 3  # client to switch, switch to switch, switch to server

TOLERANCE = 0.02
BALANCE = 0.01
NAMES = "workload.directories.0.names"


def values(parameters):
    return {key: parameters.get(key, paper) for key, paper in PAPER.items()}


def bounds(parameters):
    """What the clients offer and what the servers take, in creates a second."""
    value = values(parameters)
    startup_s = value["machine.network.startup_ns"] / 1e9
    store_s = value["machine.store.latency.constant_ns"] / 1e9
    # Cut-through: the slowest link is paid once in each direction.
    way_s = HOPS * startup_s + MESSAGE_BYTES / CLIENT_BYTES_PER_S
    offered = value["cluster.clients"] / (2 * way_s + store_s)
    taken = value["cluster.servers"] / (startup_s + MESSAGE_BYTES / SERVER_BYTES_PER_S)
    if TRUNK_BYTES_PER_S:
        taken = min(taken, TRUNK_BYTES_PER_S / MESSAGE_BYTES)
    return offered, taken


def at_random(parameters):
    """Creates a second if names choose servers at random and service is exponential."""
    clients, servers = (values(parameters)[f"cluster.{what}"] for what in ("clients", "servers"))
    offered, taken = bounds(parameters)
    service_s = servers / taken
    elsewhere_s = clients / offered - service_s
    waiting = 0.0  # requests at each server
    for present in range(1, clients + 1):
        response_s = service_s * (1 + waiting)
        throughput = present / (elsewhere_s + response_s)
        waiting = throughput / servers * response_s
    return throughput


def little(point):
    """The largest deviation from Little's law, over all resources of all phases."""
    worst = 0.0
    for phase in point["phases"]:
        for resource in phase["resources"].values():
            expected = resource["uses_per_s"] * resource["wait_us"] / 1e6
            if expected > 0.1:
                worst = max(worst, abs(resource["queue_mean"] / expected - 1))
    return worst


def flow(point):
    """The largest deviation of what resources are used from what is created, and of how busy they are
    from how long they are used."""
    worst = 0.0
    for phase in point["phases"]:
        creates_per_s = sum(operation["per_s"] for operation in phase["operations"].values()) or 1.0
        for resource in phase["resources"].values():
            worst = max(worst, abs(resource["uses_per_s"] / creates_per_s - 1))
            busy = resource["uses_per_s"] * resource["service_us"] / 1e6
            if resource["units"] and busy:
                worst = max(worst, abs(resource["utilisation"] * resource["units"] / busy - 1))
    return worst


def judge(point):
    offered, taken = bounds(point["parameters"])
    bound = min(offered, taken)
    load = offered / taken
    measured = point["throughput"].get("create", 0.0)
    deviation = measured / bound - 1
    random = at_random(point["parameters"])
    # Operations that are under way when the window opens and closes: at most one for each client.
    window_s = max(phase["measured_s"] for phase in point["phases"])
    slack = point["parameters"].get("cluster.clients", 0) / window_s / bound
    balances = {"Little %": little(point), "flow %": flow(point)}
    if deviation > min(slack, TOLERANCE):
        verdict = "ABOVE"
    elif max(balances.values()) > BALANCE:
        verdict = "UNBALANCED"
    elif point["parameters"].get(NAMES) == "numbered":
        verdict = "ok" if measured >= random else "OUTSIDE"
    elif 0.7 <= load <= 1.3:
        verdict = "excluded"
    elif abs(deviation) <= TOLERANCE:
        verdict = "ok"
    else:
        verdict = "OUTSIDE"
    return {
        "bound": round(bound, 1),
        "load": round(load, 4),
        "deviation %": round(100 * deviation, 3),
        "random at least": round(random, 1),
        **{name: round(100 * worst, 3) for name, worst in balances.items()},
        "verdict": verdict,
    }


def main():
    if len(sys.argv) == 1:
        points = json.load(sys.stdin)["points"]
        json.dump([judge(point) for point in points], sys.stdout)
        return 0
    wrong = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            points = json.load(file)["points"]
        rows = [(point["parameters"], judge(point)) for point in points]
        for parameters, row in rows:
            print(path, json.dumps(parameters), json.dumps(row))
        broken = [row for _, row in rows if row["verdict"] in ("ABOVE", "OUTSIDE", "UNBALANCED")]
        excluded = sum(row["verdict"] == "excluded" for _, row in rows)
        print(f"{path}: {len(rows)} points, {excluded} excluded, {len(broken)} break the rule")
        wrong += len(broken)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
