#!/bin/sh
# What of the twin takes too long for every change. The speed prints and never fails: a busy machine
# proves nothing. Scenarios and ranks need mpich and libclang-dev.
# Usage: crates/twin/proof.sh [executors | scenarios | ranks | scale | speed]...
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
tests() { cargo test --quiet --release --package futago-twin --test world -- --ignored --nocapture "$1"; }

# All executors on all numbers of threads, with faults and without.
executors() { tests no_combination_makes_a_difference; }

# Every scenario of the experiments comes to the same: with four clients, without faults and with all that every scenario can have
# (a client that dies, a server that comes back empty), by all executors on several threads and ranks; and of its own size, which for
# studies is that of one point in the middle, on two ranks. A scenario on one host leaves nothing to all ranks but one.
scenarios() {
    ranked_program
    count=0
    for file in experiments/*/*.toml; do
        case ${file##*/} in study.toml | machine.toml) continue ;; esac
        scenario "$file" "four clients" "--set cluster.clients=4" "1 2 4"
        scenario "$file" "four clients and faults" "--set cluster.clients=4 $faults" "2"
        scenario "$file" "its own size" "" ""
    done
    echo "$count passed, 0 failed, 0 skipped"
}

# Requests are repeated soon, as phases are short.
faults="--set cluster.protocol.request_resend_ms=5 --set cluster.protocol.grace_ms=20 --set faults.lost=0.02
    --set faults.doubled=0.02 --set faults.late=0.05 --set faults.late_ns=3000000 --set faults.dead_clients=[[1,9000000]]
    --set faults.stopped_servers=[{server=0,at_ns=12000000,back_ns=20000000}]"

# A point of a scenario file, with what is said of it, options, and numbers of threads: what one thread comes to, so many threads
# and two ranks of each executor.
scenario() {
    run="$target/mpi/release/futago twin run $1 --json --set sweep={} $3"
    alone=$($run --executor sequential --threads 1 | results)
    for executor in conservative optimistic; do
        for threads in $4; do
            other=$($run --executor "$executor" --threads "$threads" | results)
            same "$alone" "$other" "$1, $2, $executor, $threads threads"
            count=$((count + 1))
        done
        other=$(mpirun -n 2 $run --mpi --executor "$executor" --threads 1 | results)
        same "$alone" "$other" "$1, $2, $executor, 2 ranks"
        count=$((count + 1))
    done
}

# The program that needs MPI has a folder of its own.
ranked_program() {
    cargo build --quiet --release --package futago-cli --features mpi --target-dir "$target/mpi"
}

# The program on ranks of mpirun, with faults: a point that they run together and a sweep that is dealt
# out to them give what one process gives.
ranks() {
    ranked_program
    run="$target/mpi/release/futago twin run crates/twin/tests/ranks.toml --json"
    point="--set faults.lost=0.03"
    alone=$($run $point | results)
    alone_swept=$($run | results)
    for count in 1 2 4; do
        for executor in sequential conservative optimistic; do
            together=$(mpirun -n "$count" $run $point --mpi --executor "$executor" | results)
            same "$alone" "$together" "one point, $count ranks, $executor"
        done
        together=$(mpirun -n "$count" $run --mpi | results)
        same "$alone_swept" "$together" "a sweep, $count ranks"
    done
    echo "12 passed, 0 failed, 0 skipped"
}

# What a scenario comes to, but not who ran it and how fast.
results() { grep -v -e '"run\.' -e '"events_per_s"' -e '"wall_s"' -e '"peak_rss_bytes"' | tr -d ,; }

same() {
    digests=$(echo "$2" | grep -c '"digest"') && [ "$1" = "$2" ] || {
        echo "$3: the results are $2, not $1" >&2
        exit 1
    }
    echo "$3: $digests digests are the same"
}

# A thousand servers and a hundred thousand clients.
scale() { tests a_thousand_servers_and_a_hundred_thousand_clients; }

# The 128 servers of PPMDSsim's largest figures: all executors beside a bare loop over the same handlers,
# in turns. A line of JSON for each number of clients.
speed() {
    for clients in 1024 2048 4096; do
        cargo bench --quiet --package futago-twin --bench speed -- "$clients"
    done
}

[ $# -gt 0 ] || set -- executors scenarios ranks scale speed
for part; do
    case $part in
        executors | scenarios | ranks | scale | speed) "$part" ;;
        *) sed -n 's/^# \(Usage.*\)/\1/p' "$0" >&2 && exit 2 ;;
    esac
done
