#!/bin/sh
# What takes too long for every change: many seeds on ranks, every interleaving of the places where
# threads meet, the soak, and the benchmarks (which print and never fail).
set -eu
cd "$(dirname "$0")/../.."
crates/des/matrix.sh 100 6
RUSTFLAGS="--cfg loom" cargo test --release --package futago-des --lib \
    --target-dir target/loom sync::
cargo test --release --package futago-des --features cli --test soak -- --ignored
program=${CARGO_TARGET_DIR:-target}/release/futago-des
for lps in 1024 16384 100000 1000000; do
    "$program" phold --lps "$lps" --end $((20000000 / lps)) --threads 2 --compare --json
done
"$program" phold --lps 16384 --start-events 8 --end 100 --threads 2 --compare --json
"$program" chord --nodes 100000 --end 60 --json
crates/des/measure-instructions.sh "$program"
