#!/bin/sh
# What of the twin takes too long for every change. The speed prints and never fails: a busy machine
# proves nothing.
# Usage: crates/twin/proof.sh [executors | scale | speed]...
set -eu
cd "$(dirname "$0")/../.."
program=${CARGO_TARGET_DIR:-target}/release/futago
tests() { cargo test --quiet --release --package futago-twin --test world -- --ignored --nocapture "$1"; }

# All executors on all numbers of threads, with faults and without.
executors() { tests no_combination_makes_a_difference; }

# A thousand servers and a hundred thousand clients.
scale() { tests a_thousand_servers_and_a_hundred_thousand_clients; }

# The 128 servers of PPMDSsim's largest figures under all executors, in turns.
speed() {
    cargo build --quiet --release --package futago-cli
    for round in 1 2 3; do
        for executor in sequential conservative optimistic; do
            threads=2
            [ "$executor" = sequential ] && threads=1
            "$program" twin run experiments/ppmds/fig9.toml --executor "$executor" --jobs 1 \
                --set "run.threads=$threads" --set cluster.clients=2048 --json |
                sed -n "s/.*\"\(events_per_s\)\": \([0-9.e-]*\),\{0,1\}$/round $round  $executor  \1 \2/p"
        done
    done
}

[ $# -gt 0 ] || set -- executors scale speed
for part; do
    case $part in
        executors | scale | speed) "$part" ;;
        *) sed -n 's/^# \(Usage.*\)/\1/p' "$0" >&2 && exit 2 ;;
    esac
done
