#!/bin/sh
# Instructions per committed event, from two runs of different length: what a run costs apart from
# its events cancels out. First PHOLD by executor; then a process that keeps nothing and one that keeps
# 256 bytes to undo each event with. Fails if that makes a difference of more than 2 % to the
# sequential or the conservative executor, or none to the optimistic one (then nothing was measured).
# Needs valgrind, and `cargo build --release --package futago-des --features cli --bins --examples`.
set -eu
cd "$(dirname "$0")/../.."
build=${CARGO_TARGET_DIR:-target}/release
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a command that prints "<events>" or "events_committed": <events>; prints "<events> <instructions>".
count() {
    events=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" "$@" |
        sed -n 's/^\( *"events_committed": \)\{0,1\}\([0-9][0-9]*\),\{0,1\}$/\2/p' | head -n 1)
    echo "$events $(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$log")"
}

# per_event SHORT LONG, each as `count` prints it.
per_event() {
    echo "$1 $2" | awk '{ printf "%.1f", ($4 - $2) / ($3 - $1) }'
}

phold() {
    count "$build/futago-des" phold --executor "$1" --end "$2" --json
}

undo() {
    per_event "$(count "$build/examples/undo_cost" "$1" "$2" 50)" \
        "$(count "$build/examples/undo_cost" "$1" "$2" 150)"
}

for executor in sequential conservative optimistic; do
    echo "$executor $(per_event "$(phold "$executor" 50)" "$(phold "$executor" 150)")"
done | awk '{ printf "PHOLD  %-14s %7.1f instructions an event\n", $1, $2 }'

for executor in sequential conservative optimistic; do
    echo "$executor $(undo empty "$executor") $(undo full "$executor")"
done | awk '
    {
        differ = ($3 / $2 - 1) * 100
        printf "undo   %-14s %7.1f with an empty one, %7.1f with 256 bytes: %+.2f %%\n", $1, $2, $3, differ
        small = differ < 2 && differ > -2
        wrong += ($1 == "optimistic") ? small : !small
    }
    END { printf "%d passed, %d failed, 0 skipped\n", NR - wrong, wrong; exit wrong > 0 || NR < 3 }'
