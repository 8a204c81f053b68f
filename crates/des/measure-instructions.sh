#!/bin/sh
# Instructions per committed event of PHOLD, by executor, from two runs of different length: what a
# run costs apart from its events cancels out. Needs valgrind and a release build of futago-des.
set -eu
program=${1:-target/release/futago-des}
lps=${2:-1024}

# Prints "<events> <instructions>".
count() {
    log=$(mktemp)
    events=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" \
        "$program" phold --lps "$lps" --end "$2" --executor "$1" --json |
        sed -n 's/.*"events_committed": \([0-9]*\),$/\1/p' | head -n 1)
    instructions=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$log")
    rm -f "$log"
    echo "$events $instructions"
}

for executor in sequential conservative optimistic; do
    short=$(count "$executor" 50)
    long=$(count "$executor" 150)
    echo "$executor $short $long" |
        awk '{ printf "%-14s %7.1f instructions an event\n", $1, ($5 - $3) / ($4 - $2) }'
done
