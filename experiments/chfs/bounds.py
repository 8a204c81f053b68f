#!/usr/bin/env python3
"""The closed forms beside the figures of the study of CHFS, and how far a simulation is from them.

Independent of the simulator: everything is computed from the parameters of a point and of machine.toml.

    futago lab run chfs --out out                                    # uses it as a filter
    python3 experiments/chfs/bounds.py names out/chfs/names.json     # prints a table; exit code 1 if
                                                                     # a row breaks the rule

Modes and rules, fixed beforehand:

- `names`, `chunks`: the busiest server over the mean lies between the quantiles 0.5 % and 99.5 % of the largest
  of all servers' shares, if hashes are random. Modular chunks must agree exactly.
- `bandwidth`, `metadata`, `shared`: no score is above its bound, the same for the files of the shared directory as in `names`,
  and Little's law holds within 1 %.
- `find`: not above the rate at which all servers search always, and the busiest server's share of directories that do not split as in `names`.
- `async`: not above the bound, and at least 0.8 of it where one block is 64 MiB.
"""

import json
import math
import sys
from functools import lru_cache

# machine.toml
CLIENT_OPERATION_NS = 1_000
CLIENT_INPUT_NS = 1_000
SERVER_INPUT_NS = 1_000
SERVER_OUTPUT_NS = 500
SERVER_BYTE_NS = 0.1
RECORD_SCANNED_NS = 40
WAKE_UP_NS = 3_000
STARTUP_NS = 300
SWITCH_NS = 100
LOCAL_NS = 500
NIC_BYTES_PER_NS = 12.5

# The values of the scenario files for parameters that a point does not vary.
DEFAULTS = {
    "cluster.policy": "modular",
    "cluster.partitions": 4096,
    "cluster.protocol.transfer": "4MiB",
    "cluster.protocol.split_entries": 512,
    "cluster.chunk": "64KiB",
    "workload.directories.0.buckets": 32,
    "workload.phases.0.data.transfer": "1MiB",
}

# Points of each server on the ring.
VIRTUAL_SERVERS = {"ring": 128, "plain-ring": 1}
TAILS = (0.005, 0.995)
TOLERANCE = 1e-9
BALANCE = 0.01
ASYNC_AT_LEAST = 0.8

FIND_FILES = 32
SHARED_NAMES_EACH = 64
NAMES_EACH = 128


# Shares


def log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def log_choose(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def partitions_of_a_server(policy, servers, partitions):
    """How many partitions a server has: a list of (number, probability), and how many servers are
    alike; modular hashing has two kinds of servers."""
    if policy == "modular":
        low, more = divmod(partitions, servers)
        kinds = [([(low + 1, 1.0)], more), ([(low, 1.0)], servers - more)]
        return [kind for kind in kinds if kind[1]]
    if servers == 1:
        return [([(partitions, 1.0)], 1)]
    if policy == "rendezvous":
        log_p, log_q = math.log(1 / servers), math.log1p(-1 / servers)

        def log_pmf(k):
            return log_choose(partitions, k) + k * log_p + (partitions - k) * log_q

    else:
        # The arcs of a server together are a part of the ring with a beta distribution.
        a = VIRTUAL_SERVERS[policy]
        b = a * (servers - 1)

        def log_pmf(k):
            return log_choose(partitions, k) + log_beta(k + a, partitions - k + b) - log_beta(a, b)

    pmf = [(k, math.exp(log_pmf(k))) for k in range(partitions + 1)]
    return [([(k, p) for k, p in pmf if p > 1e-12], servers)]


def poisson_cdf(mean, most):
    """P(X <= x) for x from 0 to most."""
    total, cdf = 0.0, []
    for x in range(most + 1):
        if mean == 0:
            total = 1.0
        else:
            total += math.exp(x * math.log(mean) - mean - math.lgamma(x + 1))
        cdf.append(min(total, 1.0))
    return cdf


@lru_cache(maxsize=None)
def largest(policy, servers, partitions, items):
    """The largest share over the mean: mean, low and high quantile. `items` are dealt out to
    partitions at random; without them every partition has one."""
    per_server = (items or partitions) / servers
    log_cdf = None
    for kind, count in partitions_of_a_server(policy, servers, partitions):
        if items:
            heaviest = kind[-1][0] * items / partitions
            most = int(heaviest + 10 * math.sqrt(heaviest) + 20)
            cdf = [0.0] * (most + 1)
            for k, probability in kind:
                for x, below in enumerate(poisson_cdf(k * items / partitions, most)):
                    cdf[x] += probability * below
        else:
            cdf, total = [], 0.0
            probabilities = dict(kind)
            for x in range(kind[-1][0] + 1):
                total += probabilities.get(x, 0.0)
                cdf.append(total)
        of_kind = [count * math.log(min(max(c, 1e-300), 1.0)) for c in cdf]
        if log_cdf is None:
            log_cdf = of_kind
        else:
            longest = max(len(log_cdf), len(of_kind))
            log_cdf, of_kind = (c + [0.0] * (longest - len(c)) for c in (log_cdf, of_kind))
            log_cdf = [one + other for one, other in zip(log_cdf, of_kind)]
    cdf = [math.exp(c) for c in log_cdf]
    mean = sum(1 - c for c in cdf)
    low, high = (next((x for x, c in enumerate(cdf) if c >= tail), len(cdf) - 1) for tail in TAILS)
    return mean / per_server, low / per_server, high / per_server


def value(parameters, key):
    return parameters[key] if key in parameters else DEFAULTS[key]


def busiest(phase):
    """The busiest server over the mean."""
    server = phase["resources"]["server"]
    return server["utilisation_max"] / server["utilisation"]


def share_row(point, phase, partitions, items):
    parameters = point["parameters"]
    policy, servers = value(parameters, "cluster.policy"), parameters["cluster.servers"]
    mean, low, high = largest(policy, servers, partitions, items)
    measured = busiest(phase)
    inside = low - TOLERANCE <= measured <= high + TOLERANCE
    return {
        "largest over mean": round(measured, 4),
        "bound": round(mean, 4),
        "from": round(low, 4),
        "to": round(high, 4),
        "verdict": "ok" if inside else "OUTSIDE",
    }


def names(points):
    return [
        share_row(point, point["phases"][0], 4096, NAMES_EACH * point["parameters"]["cluster.servers"])
        for point in points
    ]


def chunks(points):
    return [
        share_row(point, point["phases"][0], value(point["parameters"], "cluster.partitions"), None)
        for point in points
    ]


# Scores

BANDWIDTH = ["ior-easy-write", "ior-hard-write", "ior-easy-read", "ior-hard-read"]
METADATA = [
    "mdtest-easy-write",
    "mdtest-hard-write",
    "find",
    "mdtest-easy-stat",
    "mdtest-hard-stat",
    "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete",
]
GROWN_NAMES = 128 + 64


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def rate(phase):
    """GiB/s, or thousand operations or found entries a second."""
    (operation,) = phase["operations"].values()
    if phase["name"] in BANDWIDTH:
        return operation["mib_per_s"] / 1024
    entries = GROWN_NAMES if phase["name"] == "find" else 1
    return operation["per_s"] * entries / 1000


def of_servers(phase):
    """The rate if the busiest server were always busy."""
    return rate(phase) / phase["resources"]["server"]["utilisation_max"]


def little(point):
    """The largest deviation from Little's law, over all resources of all phases."""
    worst = 0.0
    for phase in point["phases"]:
        for resource in phase["resources"].values():
            expected = resource["uses_per_s"] * resource["wait_us"] / 1e6
            if expected > 0.1:
                worst = max(worst, abs(resource["queue_mean"] / expected - 1))
    return worst


def beside(points, number, column):
    """The column of a point over that of the point with a plain ring of as many servers."""
    servers = points[number]["parameters"]["cluster.servers"]
    for other, point in enumerate(points):
        parameters = point["parameters"]
        policy = value(parameters, "cluster.policy")
        if parameters["cluster.servers"] == servers and policy == "plain-ring":
            return round(column[number] / column[other], 2)
    return None


def score_rows(points, chosen, unit):
    """Geometric means of some phases, and what broke the rules."""
    phases = [{phase["name"]: phase for phase in point["phases"]} for point in points]
    measured, bounds = (
        [geometric_mean([of(named[name]) for name in chosen]) for named in phases]
        for of in (rate, of_servers)
    )
    rows = []
    for number, point in enumerate(points):
        parameters = point["parameters"]
        hard = share_row(
            point,
            phases[number]["mdtest-hard-write"],
            value(parameters, "workload.directories.0.buckets"),
            SHARED_NAMES_EACH * parameters["cluster.clients"],
        )
        broken = [] if hard["verdict"] == "ok" else [hard["verdict"]]
        if measured[number] > bounds[number] * (1 + TOLERANCE):
            broken.append("ABOVE")
        if little(point) > BALANCE:
            broken.append("UNBALANCED")
        rows.append(
            {
                unit: round(measured[number], 3),
                "bound": round(bounds[number], 3),
                "over plain ring": beside(points, number, measured),
                **{name: round(rate(phases[number][name]), 3) for name in chosen},
                "shared names, largest over mean": hard["largest over mean"],
                "from": hard["from"],
                "to": hard["to"],
                "Little %": round(100 * little(point), 3),
                "verdict": " ".join(broken) or "ok",
            }
        )
    return rows


def bandwidth(points):
    return score_rows(points, BANDWIDTH, "GiB/s")


def metadata(points):
    return score_rows(points, METADATA, "kIOPS")


def shared(points):
    write = [point["phases"][0]["operations"]["write"]["mib_per_s"] / 1024 for point in points]
    read = [point["phases"][1]["operations"]["read"]["mib_per_s"] / 1024 for point in points]
    rows = []
    for number, point in enumerate(points):
        bound = write[number] / point["phases"][0]["resources"]["server"]["utilisation_max"]
        fair = little(point) <= BALANCE
        rows.append(
            {
                "write GiB/s": round(write[number], 3),
                "read GiB/s": round(read[number], 3),
                "bound": round(bound, 3),
                "write over plain ring": beside(points, number, write),
                "read over plain ring": beside(points, number, read),
                "largest over mean": round(busiest(point["phases"][0]), 3),
                "Little %": round(100 * little(point), 3),
                "verdict": "ok" if fair else "UNBALANCED",
            }
        )
    return rows


# Find


def find(points):
    rows = []
    for point in points:
        parameters = point["parameters"]
        servers, clients = parameters["cluster.servers"], parameters["cluster.clients"]
        phase = point["phases"][1]
        entries_per_s = phase["operations"]["find"]["per_s"] * FIND_FILES
        # One request for the attributes of the directory, and one that searches it.
        tree_ns = 2 * (SERVER_INPUT_NS + SERVER_OUTPUT_NS) + FIND_FILES * RECORD_SCANNED_NS
        bound = servers * FIND_FILES * 1e9 / tree_ns
        policy = value(parameters, "cluster.policy")
        expected, low, high = largest(policy, servers, 4096, clients)
        measured = busiest(phase)
        splits = value(parameters, "cluster.protocol.split_entries") < FIND_FILES
        verdict = "ok" if splits or low - TOLERANCE <= measured <= high + TOLERANCE else "OUTSIDE"
        rows.append(
            {
                "million entries/s": round(entries_per_s / 1e6, 3),
                "bound": round(bound / 1e6, 3),
                "million entries/s a server": round(entries_per_s / servers / 1e6, 4),
                "requests a directory": round(requests_of_servers(phase), 2),
                "servers busy": round(phase["resources"]["server"]["utilisation"], 3),
                "largest over mean": round(measured, 3),
                "expected": round(expected, 3),
                "from": round(low, 3),
                "to": round(high, 3),
                "verdict": "ABOVE" if entries_per_s > bound else verdict,
            }
        )
    return rows


def requests_of_servers(phase):
    """Messages that servers handle for an operation."""
    (operation,) = phase["operations"].values()
    return phase["resources"]["server"]["uses_per_s"] / operation["per_s"]


# Asynchronous access


def size(text):
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "B": 1}
    for unit, factor in units.items():
        if str(text).endswith(unit):
            return int(float(str(text)[: -len(unit)]) * factor)
    return int(text)


def exchange_ns(message_bytes, remote):
    """One request and its reply, with nothing else under way."""
    network = 2 * (STARTUP_NS + SWITCH_NS) + message_bytes / NIC_BYTES_PER_NS
    way = remote * network + (1 - remote) * 2 * LOCAL_NS
    server = WAKE_UP_NS + SERVER_INPUT_NS + SERVER_OUTPUT_NS + message_bytes * SERVER_BYTE_NS
    return way + server + CLIENT_INPUT_NS


def async_bound(servers, chunk, block, at_once):
    """The most MiB/s of one process."""
    chunk = min(chunk, block)
    chunks_of_block = block / chunk
    remote = 1 - 1 / servers
    one = exchange_ns(chunk, remote)
    if at_once:
        resources = [
            remote * chunk / NIC_BYTES_PER_NS,
            CLIENT_INPUT_NS,
            (SERVER_INPUT_NS + SERVER_OUTPUT_NS + chunk * SERVER_BYTE_NS) / min(servers, chunks_of_block),
        ]
        block_ns = max(one, chunks_of_block * max(resources))
    else:
        block_ns = chunks_of_block * one
    return block / (block_ns + CLIENT_OPERATION_NS) * 1e9 / (1 << 20)


def asynchronous(points):
    rows = []
    for point in points:
        parameters = point["parameters"]
        chunk = size(value(parameters, "cluster.chunk"))
        block = size(value(parameters, "workload.phases.0.data.transfer"))
        at_once = size(value(parameters, "cluster.protocol.transfer")) > 0
        bound = async_bound(parameters["cluster.servers"], chunk, block, at_once)
        measured = {kind: point["bandwidth_mib_per_s"][kind] for kind in ("write", "read")}
        verdict = "ok"
        if max(measured.values()) > bound * 1.001:
            verdict = "ABOVE"
        elif block == 64 << 20 and min(measured.values()) < ASYNC_AT_LEAST * bound:
            verdict = "OUTSIDE"
        rows.append(
            {
                "write MiB/s": round(measured["write"], 1),
                "read MiB/s": round(measured["read"], 1),
                "bound": round(bound, 1),
                "block MiB": block / (1 << 20),
                "verdict": verdict,
            }
        )
    return rows


MODES = {
    "names": names,
    "chunks": chunks,
    "bandwidth": bandwidth,
    "metadata": metadata,
    "shared": shared,
    "find": find,
    "async": asynchronous,
}


def main():
    mode, paths = MODES[sys.argv[1]], sys.argv[2:]
    if not paths:
        json.dump(mode(json.load(sys.stdin)["points"]), sys.stdout)
        return 0
    broken = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            points = json.load(file)["points"]
        rows = mode(points)
        for point, row in zip(points, rows):
            print(json.dumps(point["parameters"]), json.dumps(row))
        wrong = sum(row["verdict"] != "ok" for row in rows)
        print(f"{path}: {len(rows)} points, {wrong} break the rule")
        broken += wrong
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
