#!/bin/sh
# What takes too long for every change. The benchmarks print and never fail: a busy machine proves
# nothing. Needs mpich, libclang-dev, valgrind, and a nightly toolchain with rust-src and miri.
# Usage: [EVENTS=N] crates/des/proof.sh [matrix | races | soak | speed | instructions]...
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
program=$target/release/futago-des
build() { cargo build --quiet --release --package futago-des --features cli,mpi "$@"; }

# Many seeds, on threads and on ranks.
matrix() { crates/des/matrix.sh 30 3; }

# The places where threads meet: every interleaving (loom), whole runs under ThreadSanitizer, and
# small runs under Miri, which knows undefined behaviour and weak memory. The crate has no unsafe code.
races() {
    echo "loom:"
    RUSTFLAGS="--cfg loom" cargo test --quiet --release --package futago-des --lib \
        --target-dir "$target/loom" every_interleaving
    echo "ThreadSanitizer:"
    RUSTFLAGS="-Zsanitizer=thread" cargo +nightly test --quiet --release --package futago-des \
        -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir "$target/tsan" \
        --lib --test executors --test failures
    echo "Miri:"
    PROPTEST_CASES=4 MIRIFLAGS=-Zmiri-disable-isolation \
        cargo +nightly miri test --quiet --package futago-des --target-dir "$target/miri" \
        --lib --test failures -- executor:: queue:: sync:: undo:: a_panic_names a_broken_lookahead
}

# Hardly any lookahead, nearly all work in one partition, and a limit to memory.
soak() {
    cargo test --quiet --release --package futago-des --test soak -- --ignored --nocapture
}

# All executors beside a bare loop, memory, and Chord beside real time. EVENTS sizes the runs.
speed() {
    build --bins
    for lps in 1024 16384 100000 1000000; do
        "$program" phold --lps "$lps" --end "$(events_over "$lps")" --threads 2 --compare --rounds 3
    done
    echo "8 start events:"
    "$program" phold --lps 16384 --start-events 8 --end "$(events_over 200000)" --threads 2 \
        --compare --rounds 3
    for executor in sequential conservative optimistic; do
        "$program" phold --lps 16384 --end "$(events_over 100000)" --executor "$executor" --threads 2 --json |
            report "$executor" peak_rss_bytes gvt_share
        "$program" chord --nodes 100000 --end "$(events_over 166667)" --executor "$executor" \
            --threads 2 --json |
            report "$executor" times_real_time mean_hops expected_hops
    done
    mpirun -n 2 "$program" phold --lps 16384 --end "$(events_over 100000)" --executor optimistic --mpi --json |
        report "optimistic on 2 ranks" peak_rss_bytes gvt_share
}

events_over() { awk "BEGIN { printf \"%.3f\", ${EVENTS:-10000000} / $1 }"; }

# Prints the named numbers of the JSON statistics in one line, after a title.
report() {
    title=$1
    shift
    statistics=$(cat)
    for name; do
        title="$title  $(echo "$statistics" | sed -n "s/.*\"\($name\)\": \([0-9.e-]*\),\{0,1\}$/\1 \2/p")"
    done
    echo "$title"
}

# What an event costs, and that an undo costs nothing where nothing is undone.
instructions() {
    build --bins --examples
    crates/des/measure-instructions.sh
}

[ $# -gt 0 ] || set -- matrix races soak speed instructions
for part; do
    case $part in
        matrix | races | soak | speed | instructions) "$part" ;;
        *) sed -n 's/^# \(Usage.*\)/\1/p' "$0" >&2 && exit 2 ;;
    esac
done
