//! Points as rows.

use crate::results::{PointResult, TransactionResult};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

/// Points as rows of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// The parameters that all points have in common, as text.
pub fn same_parameters(points: &[PointResult]) -> BTreeMap<String, String> {
    let Some(first) = points.first() else {
        return BTreeMap::new();
    };
    let same = first
        .parameters
        .iter()
        .filter(|(key, _)| !varies(points, key));
    same.map(|(key, value)| (key.clone(), rounded(value)))
        .collect()
}

fn varies(points: &[PointResult], key: &str) -> bool {
    let value = |point: &PointResult| point.parameters.get(key).cloned();
    points
        .windows(2)
        .any(|pair| value(&pair[0]) != value(&pair[1]))
}

impl Table {
    /// A row for each point: the parameters that vary, the results, and the columns in `checks`.
    pub fn new(points: &[PointResult], checks: &[Map<String, Value>]) -> Self {
        let keys: BTreeSet<&String> = points.iter().flat_map(|p| p.parameters.keys()).collect();
        let keys: Vec<&String> = keys.into_iter().filter(|key| varies(points, key)).collect();
        let operations: BTreeSet<&String> =
            points.iter().flat_map(|p| p.throughput.keys()).collect();
        let mut columns: Vec<String> = keys.iter().map(|key| (*key).clone()).collect();
        for operation in &operations {
            let names = ["/s", " p50 µs", " p99 µs", " allowed/s"];
            columns.extend(names.map(|name| format!("{operation}{name}")));
        }
        let transacting = transacting(points);
        for name in transacting.values() {
            let names = [" commits/s", " aborts/s", " conflicts/op", " retries/op"];
            columns.extend(names.map(|of| format!("{name}{of}")));
        }
        let open = points.iter().any(|point| left(point).is_some());
        columns.extend(open.then(|| "left".to_owned()));
        columns.extend(["limited by", "busiest", "busy", "failed"].map(str::to_owned));
        let further: Vec<&String> = checks.first().map_or(Vec::new(), |c| c.keys().collect());
        columns.extend(further.iter().map(|name| (*name).clone()));
        columns.extend(["events", "events/s", "wall s"].map(str::to_owned));
        let rows = points.iter().enumerate().map(|(number, point)| {
            let mut row: Vec<Value> = keys.iter().map(|key| parameter(point, key)).collect();
            for operation in &operations {
                row.extend(operation_cells(point, operation));
            }
            for phase in transacting.keys() {
                row.extend(transaction_cells(point, *phase));
            }
            row.extend(open.then(|| left(point).map_or(Value::Null, Value::from)));
            row.extend(resource_cells(point));
            let check = checks.get(number);
            row.extend(further.iter().map(|name| {
                let value = check.and_then(|check| check.get(*name));
                value.cloned().unwrap_or(Value::Null)
            }));
            row.push(point.events_committed.into());
            row.push(point.events_per_s.into());
            row.push(point.wall_s.into());
            row
        });
        Self {
            rows: rows.collect(),
            columns,
        }
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.columns
    }

    /// The rows, with rounded numbers.
    pub fn rounded(&self) -> Vec<Vec<String>> {
        let rows = self.rows.iter();
        rows.map(|row| row.iter().map(rounded).collect()).collect()
    }

    /// Writes the table as CSV, with all digits.
    pub fn write_csv(&self, to: impl Write) -> Result<(), csv::Error> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(exact))?;
        }
        Ok(writer.flush()?)
    }

    /// The table as text in columns, for a terminal.
    pub fn to_text(&self) -> String {
        let mut lines = vec![self.columns.clone()];
        lines.extend(self.rounded());
        let width = |column: usize| {
            let cells = lines.iter().map(|line| line[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &Vec<String>| {
            let cells = cells.iter().zip(&widths);
            let cells: Vec<String> = cells
                .map(|(cell, width)| format!("{cell:>width$}"))
                .collect();
            cells.join("  ") + "\n"
        };
        lines.iter().map(line).collect()
    }
}

fn parameter(point: &PointResult, key: &str) -> Value {
    point.parameters.get(key).cloned().unwrap_or(Value::Null)
}

fn operation_cells(point: &PointResult, operation: &str) -> [Value; 4] {
    let latency = point.latency_us.get(operation);
    let of = |value: Option<f64>| value.map_or(Value::Null, Value::from);
    [
        of(point.throughput.get(operation).copied()),
        of(latency.map(|latency| latency.p50)),
        of(latency.map(|latency| latency.p99)),
        of(point.bound.per_s.get(operation).copied()),
    ]
}

/// The phases with transactions, by number and name.
fn transacting(points: &[PointResult]) -> BTreeMap<usize, &str> {
    let phases = points
        .iter()
        .flat_map(|point| point.phases.iter().enumerate());
    let transacting = phases.filter(|(_, phase)| phase.transactions.begun > 0);
    transacting
        .map(|(number, phase)| (number, phase.name.as_str()))
        .collect()
}

/// Operations that had not begun when their phase ended.
fn left(point: &PointResult) -> Option<u64> {
    let left = point.phases.iter().filter_map(|phase| phase.left);
    left.reduce(|one, other| one + other)
}

fn transaction_cells(point: &PointResult, phase: usize) -> [Value; 4] {
    let transactions = point.phases.get(phase).map(|phase| phase.transactions);
    let of = |figure: fn(&TransactionResult) -> f64| {
        let figure = transactions.as_ref().map(figure);
        figure.map_or(Value::Null, Value::from)
    };
    [
        of(|all| all.committed_per_s),
        of(|all| all.aborted_per_s),
        of(|all| all.conflicts_per_operation),
        of(|all| all.retries_per_operation),
    ]
}

fn resource_cells(point: &PointResult) -> [Value; 4] {
    let busiest = point.utilisation.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let (name, busy) = busiest.map_or((Value::Null, Value::Null), |(name, busy)| {
        (name.as_str().into(), (*busy).into())
    });
    let operations = point
        .phases
        .iter()
        .flat_map(|phase| phase.operations.values());
    let failed: u64 = operations
        .flat_map(|operation| operation.errors.values())
        .sum();
    [
        point.bound.resource.as_str().into(),
        name,
        busy,
        failed.into(),
    ]
}

/// A value with all its digits.
fn exact(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value for readers: a whole number from a thousand on, else four digits.
fn rounded(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.is_finite() && number != 0.0 => {
            let decimals = (3 - number.abs().log10().floor() as i32).clamp(0, 6);
            format!("{number:.0$}", decimals as usize)
        }
        _ => exact(value),
    }
}
