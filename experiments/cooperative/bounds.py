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

IOR. N clients write S pieces each, and read what another one has written, from 1 server.

MB/s        What all clients read.
gain        Over clients that read from the server; more than 1 while the caches of all clients have all data.
bound       An upper bound. From each other, up to the size of a client's cache: the interfaces of all clients.
            From the server: its interface, or its work for each piece. Once it has not all data in memory, its
            disk and its work, because it reads one piece after the other itself. The data that was used last is
            that which is read last, so nothing that is read is in memory, and the server is never idle.

Epochs. N clients together read a file once in each epoch, in a new order each time.

shares      The cache of a client, in parts of what it reads in an epoch.
copies      How often the server sends the file in an epoch, from the second one on.
relative    The time of such an epoch over that of the first one.
bound       For `copies`, exact but for CHANCE. A cache of c shares has what was read last. A piece that one client
            has read at the part q of an epoch, and that another one wants at the part p of the next one, is there if
            1 - q + p < c. Both are random, so the server sends 1 - c * c / 2 of all pieces up to c = 1, (2 - c) *
            (2 - c) / 2 up to c = 2, and none beyond.

Little's law must hold within 1 % at every resource for which requests wait (their number is uses times
waiting). Rows where it does not are `UNBALANCED`.
"""

import pathlib
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve()
sys.path.append(str(HERE.parent.parent))
import judging  # noqa: E402
from judging import BALANCE, little  # noqa: E402

COPIES_MAX = 1.1
# As in crates/server/src/copies.rs.
CHAIN_MAX = 64
# A piece that comes from another client takes longer than one from a server by the work of a client.
SLACK = 1.1
PIECE_BYTES = 1 << 20
# As in crates/client/src/cooperative/plan.rs.
PLANS = [4, 16, 64]
SCENARIO = tomllib.loads(HERE.with_name("broadcast.toml").read_text(encoding="utf-8"))
IOR = tomllib.loads(HERE.with_name("ior.toml").read_text(encoding="utf-8"))
# A block of 64 KiB takes 256 bytes besides its data (crates/client/src/block_cache.rs).
IOR_CACHE_PIECES = 3 * 1024 * 65_536 // (65_536 + 256)
EPOCHS = tomllib.loads(HERE.with_name("epochs.toml").read_text(encoding="utf-8"))
EPOCHS_FILE_MIB = 8 * 1024
# The pieces that a client reads in two epochs, one of 64, come from its own cache and grow old there.
CHANCE = 0.03
MACHINE_FILE = HERE.parent / SCENARIO["machine"]["file"]
COSTS = tomllib.loads(MACHINE_FILE.read_text(encoding="utf-8"))["costs"]["server"]
MESSAGE_S = (COSTS["batch_ns"] + COSTS["sockets"]["batch_ns"]) / 1e9


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
    row |= {"Little %": round(100 * little(point["phases"][:1]), 3)}
    return row | {"verdict": verdict(point, row)}


def ior_bound(parameters, size):
    """The most that clients read, in MB/s, and by what it is bound."""
    clients = parameters["cluster.clients"]
    interface = IOR["machine"]["servers"]["nic"]["bandwidth_mb_per_s"]
    if parameters["cluster.cooperative"] and size < IOR_CACHE_PIECES:
        return clients * interface, "clients"
    byte_ns = COSTS["byte_sent_ns"] + COSTS["sockets"]["byte_sent_ns"]
    work_ns = MESSAGE_S * 1e9 + COSTS["request_ns"]["read_chunk"] + PIECE_BYTES * byte_ns
    reads = IOR["machine"]["disk"]["reads"]
    if clients * size > reads["memory_mib"]:
        work_ns += reads["latency"]["constant_ns"] + PIECE_BYTES * reads["byte_ns"]
        return PIECE_BYTES * 1e3 / work_ns, "disk"
    return min(interface, PIECE_BYTES * 1e3 / work_ns), "server"


def ior_verdict(point, row):
    errors = any(operation["errors"] for phase in point["phases"] for operation in phase["operations"].values())
    if errors or row["by"] == "clients" and row["from server"] > 0.01:
        return "COPIES"
    if row["MB/s"] > 1.001 * row["bound"]:
        return "ABOVE"
    if row["by"] == "disk" and row["MB/s"] < row["bound"] / SLACK:
        return "BELOW"
    if row["by"] == "clients" and row["gain"] <= 1:
        return "BELOW"
    return "UNBALANCED" if row["Little %"] > 100 * BALANCE else "ok"


def ior_pieces(point):
    """The pieces that all clients read."""
    return point["phases"][1]["operations"]["read"]["count"]


def ior_gain(points, point):
    """How much faster clients read than from the server alone."""
    for other in points:
        if not other["parameters"]["cluster.cooperative"] and ior_pieces(other) == ior_pieces(point):
            return other["phases"][1]["measured_s"] / point["phases"][1]["measured_s"]
    return 1.0


def ior(points, point):
    parameters, phase = point["parameters"], point["phases"][1]
    read = ior_pieces(point) * PIECE_BYTES
    bound, by = ior_bound(parameters, ior_pieces(point) / parameters["cluster.clients"])
    written_s = point["phases"][0]["measured_s"]
    row = {"GiB": round(read / 2**30, 3), "written MB/s": round(read / written_s / 1e6, 1)}
    row |= {"MB/s": round(read / phase["measured_s"] / 1e6, 1), "gain": round(ior_gain(points, point), 2)}
    row |= {"bound": round(bound, 1), "by": by}
    sources = phase.get("sources")
    row |= {"from server": round(sources["bytes_from_servers"] / read, 4) if sources else 1.0}
    row |= {"Little %": round(100 * little([phase]), 3)}
    return row | {"verdict": ior_verdict(point, row)}


def cache_shares(parameters):
    """The cache of a client, in parts of what it reads in an epoch."""
    cache_mib = float(parameters["cluster.shared_cache"].removesuffix("MiB"))
    share_mib = EPOCHS_FILE_MIB / EPOCHS["cluster"]["clients"]
    return cache_mib * 65_536 / (65_536 + 256) / share_mib


def epochs_bound(parameters):
    """How often the server sends the file."""
    shares = cache_shares(parameters)
    if not parameters["cluster.cooperative"]:
        return 1.0
    if shares <= 1:
        return 1 - shares**2 / 2
    return max(0, 2 - shares) ** 2 / 2


def epochs_verdict(point, row):
    errors = any(operation["errors"] for phase in point["phases"] for operation in phase["operations"].values())
    if errors or abs(row["copies"] - row["bound"]) > CHANCE:
        return "COPIES"
    return "UNBALANCED" if row["Little %"] > 100 * BALANCE else "ok"


def epochs(_, point):
    first, *later = point["phases"]
    copies = sum(phase["sources"]["copies_from_servers"] for phase in later) / len(later)
    later_s = sum(phase["measured_s"] for phase in later) / len(later)
    row = {"shares": round(cache_shares(point["parameters"]), 3), "copies": round(copies, 4)}
    row |= {"s": round(later_s, 2), "relative": round(later_s / first["measured_s"], 4)}
    row |= {"bound": round(epochs_bound(point["parameters"]), 4)}
    row |= {"Little %": round(100 * little(point["phases"]), 3)}
    return row | {"verdict": epochs_verdict(point, row)}


def main():
    judges = {"broadcast": broadcast, "ior": ior, "epochs": epochs}
    return judging.run(judges[sys.argv[1]])


if __name__ == "__main__":
    sys.exit(main())
