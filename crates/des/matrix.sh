#!/bin/sh
# Prints the matrix models x executors x threads x ranks with the number of seeds in every cell, and
# fails if any digest differs, or if ranks together report other results than one alone. Ranks are
# processes of mpirun (Debian: mpich, libclang-dev).
# Usage: crates/des/matrix.sh [SEEDS on one rank] [SEEDS on several ranks]
set -eu
cd "$(dirname "$0")/../.."
cargo build --quiet --release --package futago-des --features cli,mpi --bin futago-des
program=${CARGO_TARGET_DIR:-target}/release/futago-des
"$program" matrix --seeds "${1:-10}"
for ranks in 2 4; do
    mpirun -n "$ranks" "$program" matrix --mpi --seeds "${2:-1}" --scale 0.5
done

# What a command says of its model, but not how fast that was.
results() {
    "$@" --json | sed -n '/"results"/,/}/{/times_real_time/!p}'
}
for model in "queueing --placement round-robin --end 40" "chord --nodes 64 --lookup-every 1 --end 5"; do
    alone=$(results "$program" $model)
    for ranks in 2 4; do
        together=$(results mpirun -n "$ranks" "$program" $model --mpi --executor conservative)
        [ "$alone" = "$together" ] || {
            echo "$model: $ranks ranks report $together, one reports $alone" >&2
            exit 1
        }
        echo "$model: $ranks ranks report what one does"
    done
done
echo "4 passed, 0 failed, 0 skipped"
