//! A comparison as tables in Markdown, as they are published.

use super::{Pair, Report, Row, error_mean_and_worst};
use std::{collections::BTreeMap, fmt::Write};

/// Both tables: errors by the number of servers and clients, and all rows.
pub fn text(report: &Report) -> String {
    let mut text = summary(report);
    text += "\n| servers | clients | rows | mean error % | worst % |\n|---|---|---|---|---|\n";
    let mut points: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in &report.rows {
        let point = [
            row.parameter("cluster.servers"),
            row.parameter("cluster.clients"),
        ];
        points.entry(point).or_default().push(row);
    }
    for ([servers, clients], rows) in points {
        let (mean, worst) = error_mean_and_worst(rows.iter().copied());
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {servers} | {clients} | {} | {mean:.0} | {worst:.0} |",
            rows.len()
        );
    }
    text += "\nTimes in microseconds:\n\n\
             | servers | clients | operation | counted | real/s | least to most | two differ by % | halves by % | twin/s | error % \
             | p50 real | twin | error % | p99 real | twin | error % |\n";
    text += &format!("|{}\n", "---|".repeat(16));
    report
        .rows
        .iter()
        .map(line)
        .fold(text, |text, line| text + &line)
}

/// How many rows are how near.
fn summary(report: &Report) -> String {
    let within = |percent: f64| {
        let errors = report.rows.iter().map(|row| row.throughput.error_percent);
        errors.filter(|error| error.abs() <= percent).count()
    };
    let unclear = report.rows.iter().filter(|row| {
        let Pair {
            real_halves_percent,
            error_percent,
            ..
        } = row.throughput;
        error_percent.abs() <= real_halves_percent
    });
    format!(
        "Of {} rows the twin's throughput is within 10 % in {} and within 25 % in {}; it is off by {:.1} % on \
         average and by {:.0} % at worst. Every other repetition of the real cluster and those between differ by {:.1} % on average and by {:.0} % at \
         worst, two repetitions by {:.1} and {:.0} %; in {} rows the twin's error is not larger than the first.\n",
        report.rows.len(),
        within(10.0),
        within(25.0),
        report.throughput_error_mean_percent,
        report.throughput_error_worst_percent,
        report.real_halves_mean_percent,
        report.real_halves_worst_percent,
        report.real_difference_mean_percent,
        report.real_difference_worst_percent,
        unclear.count(),
    )
}

fn line(row: &Row) -> String {
    let Pair {
        real,
        real_least,
        real_most,
        real_difference_percent,
        real_halves_percent,
        twin,
        error_percent,
        ..
    } = row.throughput;
    let latency = |pair: &Pair| {
        let Pair {
            real,
            twin,
            error_percent,
            ..
        } = pair;
        format!("{real:.1} | {twin:.1} | {error_percent:.0}")
    };
    format!(
        "| {} | {} | {} | {} | {real:.0} | {real_least:.0} to {real_most:.0} | {real_difference_percent:.0} | {real_halves_percent:.0} | {twin:.0} | {error_percent:.0} | {} | {} |\n",
        row.parameter("cluster.servers"),
        row.parameter("cluster.clients"),
        row.label(),
        row.counted,
        latency(&row.p50_us),
        latency(&row.p99_us),
    )
}
