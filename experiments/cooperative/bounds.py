#!/usr/bin/env python3
"""Closed forms of the study, and the balances that every simulation has to keep.

Independent of the simulator: everything is computed from the scenario and the parameters of a point.

    futago lab run cooperative --out out                              # uses it as a filter
    python3 experiments/cooperative/bounds.py broadcast out/cooperative/time.json ...
                                                                      # prints a table; exit code 1 if
                                                                      # a row breaks the rule

N clients read S pieces of 1 MiB in order, one request after the other.

copies      How often the servers send the whole file. From servers: N, exactly. From each other: at most 1.1.
relative    The time of all clients over that of one that reads from the servers.
bound       From servers: a lower bound. Servers that send equal shares of all N * S pieces are never faster than
            their interfaces, and than their work for each piece (`costs.server`).
            From each other: an upper bound. Clients that come at once are a chain, in which piece p is with
            client k after p + k pieces, so they take (S + N - 1) / S times as long as one. From a depth of CHAIN_MAX
            on, holders have two readers: a piece passes CHAIN_MAX caches at most, and leaves some of them twice.
            Besides, each client sends the file's home requests, which that serves one after the other: announce
            changes, get the state, and find holders of 4, 16 and then 64 pieces each.
least       From each other: what the home needs for these requests, a lower bound.

Rows beyond a bound are `BELOW` or `ABOVE`, those with other copies or with errors `COPIES`.

Little's law must hold within 1 % at every resource for which requests wait (their number is uses times
waiting). Rows where it does not are `UNBALANCED`.
"""

import json
import pathlib
import sys
import tomllib

BALANCE = 0.01
COPIES_MAX = 1.1
# As in crates/server/src/copies.rs.
CHAIN_MAX = 64
# A piece that comes from another client takes longer than one from a server by the work of a client.
SLACK = 1.1
PIECE_BYTES = 1 << 20
# As in crates/client/src/cooperative/plan.rs.
PLANS = [4, 16, 64]
HERE = pathlib.Path(__file__)
SCENARIO = tomllib.loads(HERE.with_name("broadcast.toml").read_text(encoding="utf-8"))
MACHINE_FILE = HERE.parent / SCENARIO["machine"]["file"]
COSTS = tomllib.loads(MACHINE_FILE.read_text(encoding="utf-8"))["costs"]["server"]
MESSAGE_S = (COSTS["batch_ns"] + COSTS["sockets"]["batch_ns"]) / 1e9


def little(point):
    """The largest deviation from Little's law, over all resources."""
    worst = 0.0
    for resource in point["phases"][0]["resources"].values():
        expected = resource["uses_per_s"] * resource["wait_us"] / 1e6
        if expected > 0.1:
            worst = max(worst, abs(resource["queue_mean"] / expected - 1))
    return worst


def pieces(point):
    """The pieces of the file, from what all clients have read."""
    sources = point["phases"][0]["sources"]
    read = sources["bytes_from_servers"] + sources["bytes_from_clients"]
    return read / PIECE_BYTES / point["parameters"]["cluster.clients"]


def of_one(points, point):
    """The time of one client that reads the same file from the servers."""
    for other in points:
        parameters = other["parameters"]
        is_one = parameters["cluster.clients"] == 1 and not parameters["cluster.cooperative"]
        if is_one and pieces(other) == pieces(point):
            return other["phases"][0]["measured_s"]
    return point["phases"][0]["measured_s"]


def sending_s():
    """The time of a server for a piece: of its interface or of its own work."""
    interface_s = PIECE_BYTES / (SCENARIO["machine"]["servers"]["nic"]["bandwidth_mb_per_s"] * 1e6)
    byte_ns = COSTS["byte_sent_ns"] + COSTS["sockets"]["byte_sent_ns"]
    work_s = MESSAGE_S + (COSTS["request_ns"]["read_chunk"] + PIECE_BYTES * byte_ns) / 1e9
    return max(interface_s, work_s)


def from_servers(point, one_s):
    parameters = point["parameters"]
    share = parameters["cluster.clients"] * pieces(point) / parameters["cluster.servers"]
    return {"bound": round(max(1.0, share * sending_s() / one_s), 3)}


def home_requests(size):
    """The requests of a client to the home of a file of so many pieces."""
    requests, planned = 2, 0
    while planned < size:
        planned += PLANS[min(requests - 2, len(PLANS) - 1)]
        requests += 1
    return requests


def from_each_other(point, one_s):
    clients, size = point["parameters"]["cluster.clients"], pieces(point)
    home_s = home_requests(size) * clients * (MESSAGE_S + COSTS["input_ns"] / 1e9)
    twice = 2 if clients > CHAIN_MAX else 1
    chain = twice * (size + min(clients, CHAIN_MAX) - 1) / size
    least, most = max(1.0, home_s / one_s), SLACK * (chain + home_s / one_s)
    return {"bound": round(most, 3), "least": round(least, 3)}


def verdict(point, row):
    """What is wrong with a row."""
    shares, clients = point["parameters"]["cluster.cooperative"], point["parameters"]["cluster.clients"]
    copies = row["copies"] <= COPIES_MAX if shares else row["copies"] == clients
    errors = any(operation["errors"] for operation in point["phases"][0]["operations"].values())
    if errors or not copies:
        return "COPIES"
    # Rounded figures.
    if row["relative"] < 0.999 * (row["least"] if shares else row["bound"]):
        return "BELOW"
    if shares and row["relative"] > row["bound"]:
        return "ABOVE"
    return "UNBALANCED" if row["Little %"] > 100 * BALANCE else "ok"


def broadcast(points, point):
    one_s, phase = of_one(points, point), point["phases"][0]
    row = {"MiB": round(pieces(point)), "copies": round(phase["sources"]["copies_from_servers"], 3)}
    row |= {"relative": round(phase["measured_s"] / one_s, 3)}
    shares = point["parameters"]["cluster.cooperative"]
    row |= from_each_other(point, one_s) if shares else from_servers(point, one_s)
    row |= {"Little %": round(100 * little(point), 3)}
    return row | {"verdict": verdict(point, row)}


def main():
    if len(sys.argv) == 2:
        points = json.load(sys.stdin)["points"]
        json.dump([broadcast(points, point) for point in points], sys.stdout)
        return 0
    wrong = 0
    for path in sys.argv[2:]:
        points = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["points"]
        rows = [(point["parameters"], broadcast(points, point)) for point in points]
        for parameters, row in rows:
            print(path, json.dumps(parameters), json.dumps(row))
        broken = sum(row["verdict"] != "ok" for _, row in rows)
        print(f"{path}: {len(rows)} points, {broken} break the rule")
        wrong += broken
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
