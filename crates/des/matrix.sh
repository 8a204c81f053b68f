#!/bin/sh
# Prints the matrix models x executors x threads x ranks with the number of seeds in every cell, and
# fails if any digest differs. Ranks are processes of mpirun (Debian: mpich, libclang-dev).
# Usage: crates/des/matrix.sh [SEEDS on one rank] [SEEDS on several ranks]
set -eu
cd "$(dirname "$0")/../.."
cargo build --quiet --release --package futago-des --features cli,mpi --bin futago-des
program=${CARGO_TARGET_DIR:-target}/release/futago-des
"$program" matrix --seeds "${1:-10}"
for ranks in 2 4; do
    mpirun -n "$ranks" "$program" matrix --mpi --seeds "${2:-1}" --scale 0.5
done
