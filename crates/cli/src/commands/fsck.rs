//! `futago fsck`: checks that all records of all servers fit together, and mends them.

use crate::{
    cluster::ClusterFile,
    connection::Connection,
    exit::{Exit, Problem},
    output,
};
use clap::Args;
use futago_base::ClusterMap;
use futago_lab::check::{Finding, Listing, Records, check, repair_plan};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// Arguments of `fsck`.
#[derive(Args)]
pub struct Fsck {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Mend what is found. Nodes that have lost their names get one in the root directory that
    /// begins with lost+found.
    #[arg(long)]
    repair: bool,
    /// How long an inconsistency must last to count as damage: operations under way do not.
    #[arg(long, value_name = "SECONDS", default_value_t = SETTLE_S)]
    settle: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    clean: bool,
    findings: Vec<Row>,
    /// How many repairs were made.
    repairs: usize,
    /// The findings that remain after the repairs.
    remaining: Vec<Row>,
    /// How many records of each sort were looked at.
    records: BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
struct Row {
    kind: &'static str,
    server: u16,
    text: String,
}

impl From<&Finding> for Row {
    fn from(finding: &Finding) -> Self {
        Self {
            kind: finding.fault.kind().into(),
            server: finding.server.0,
            text: finding.fault.to_string(),
        }
    }
}

/// How long an operation under way may make records look as if they did not fit: longer than
/// servers leave an undecided transaction alone.
const SETTLE_S: u64 = 3;

type Counts = BTreeMap<&'static str, usize>;

impl Fsck {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Checks. Ends with 1 if anything was wrong, mended or not.
    pub fn run(self) -> anyhow::Result<Exit> {
        let connection = Connection::open(&self.cluster.load()?)?;
        ensure_all_answer(&connection)?;
        let settle = Duration::from_secs(self.settle);
        let (findings, records) = confirmed(&connection, settle)?;
        let mut report = Report {
            clean: findings.is_empty(),
            findings: findings.iter().map(Row::from).collect(),
            repairs: 0,
            remaining: Vec::new(),
            records,
        };
        if self.repair && !findings.is_empty() {
            report.repairs = mend(&connection, &findings)?;
            let (remaining, _) = confirmed(&connection, settle)?;
            report.remaining = remaining.iter().map(Row::from).collect();
        }
        output::print(self.json, &report, text)?;
        Ok(if report.clean {
            Exit::Success
        } else {
            Exit::Wrong
        })
    }
}

/// Records of a server that does not reply look like lost ones, so the check then says nothing of
/// the other servers, either.
fn ensure_all_answer(connection: &Connection) -> anyhow::Result<()> {
    let silent = connection
        .map()
        .servers()
        .filter(|&server| connection.space(server).is_err());
    let silent: Vec<String> = silent.map(|server| server.to_string()).collect();
    if silent.is_empty() {
        return Ok(());
    }
    let what = format!(
        "{} of {} do not answer: {}; their records can only be checked with those of the others",
        silent.len(),
        connection.map().server_count(),
        silent.join(", ")
    );
    Err(Problem::error(Exit::Unreachable, what))
}

/// The findings now that are still there a moment later: operations under way do not count.
fn confirmed(connection: &Connection, settle: Duration) -> anyhow::Result<(Vec<Finding>, Counts)> {
    let (first, counts) = look(connection)?;
    if first.is_empty() {
        return Ok((first, counts));
    }
    std::thread::sleep(settle);
    let (mut second, counts) = look(connection)?;
    second.retain(|finding| first.contains(finding));
    Ok((second, counts))
}

fn look(connection: &Connection) -> anyhow::Result<(Vec<Finding>, Counts)> {
    let map: &ClusterMap = connection.map();
    let bar = output::progress(map.servers().count() as u64, "inspect");
    let mut listings = Vec::new();
    for server in map.servers() {
        let records = connection.inspect(server)?;
        listings.push(Listing { server, records });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let records = Records::new(map, &listings);
    Ok((check(&records), records.counts().into()))
}

fn mend(connection: &Connection, findings: &[Finding]) -> anyhow::Result<usize> {
    let plan = repair_plan(findings);
    for (server, repair) in &plan {
        connection
            .repair(*server, repair.clone())
            .map_err(|error| {
                Problem::error(
                    Exit::Failed,
                    format!("repair {repair:?} at {server}: {error:#}"),
                )
            })?;
    }
    Ok(plan.len())
}

fn text(report: &Report) -> String {
    let counts: Vec<String> = report
        .records
        .iter()
        .map(|(sort, count)| format!("{count} {sort}"))
        .collect();
    let mut text = format!("checked {}\n", counts.join(", "));
    for row in &report.findings {
        text += &format!("server {}: {}: {}\n", row.server, row.kind, row.text);
    }
    if report.clean {
        return text + "clean\n";
    }
    text += &format!("{} fault(s) found\n", report.findings.len());
    if report.repairs > 0 {
        text += &format!(
            "{} repair(s) made, {} fault(s) remain\n",
            report.repairs,
            report.remaining.len()
        );
    }
    for row in &report.remaining {
        text += &format!(
            "remains: server {}: {}: {}\n",
            row.server, row.kind, row.text
        );
    }
    text
}
