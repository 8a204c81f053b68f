//! Reports of studies: one self-contained HTML file, and a table for each figure.

mod plot;
mod table;

pub use table::Table;

use crate::{results::PointResult, study::Figure};
use minijinja::{AutoEscape, Environment, context, value::Serde};
use serde::Serialize;
use serde_json::{Map, Value};

/// A figure with its results.
#[derive(Clone, Debug)]
pub struct FigureReport {
    /// The figure.
    pub figure: Figure,
    /// The complete scenario of the first point, including its machine.
    pub scenario: Value,
    /// Its points.
    pub points: Vec<PointResult>,
    /// Further columns of the table, one object for each point; empty if there are none.
    pub checks: Vec<Map<String, Value>>,
}

/// The heading above all figures.
#[derive(Clone, Debug, Serialize)]
pub struct Heading {
    /// The title.
    pub title: String,
    /// The subject.
    pub about: String,
    /// The program, with its version.
    pub version: String,
}

impl FigureReport {
    /// All points with their parameters and results.
    pub fn table(&self) -> Table {
        Table::new(&self.points, &self.checks)
    }

    /// A value of a point by its name: a parameter, a result, or a column of the check.
    fn value(&self, number: usize, name: &str) -> Option<f64> {
        let point = self.points.get(number)?;
        let column = || self.checks.get(number)?.get(name)?.as_f64();
        point.figure(name).or_else(column)
    }
}

/// One HTML file with all figures: plots, claims and tables. It loads no other resources.
pub fn html(heading: &Heading, figures: &[FigureReport]) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("report", include_str!("report.html"))?;
    let figures = figures.iter().map(|report| {
        let table = report.table();
        let scenario = &report.scenario;
        context! {
            scenario => toml::to_string(scenario).unwrap_or_else(|_| scenario.to_string()),
            figure => Serde(&report.figure),
            plot => plot::svg(report),
            same => table::same_parameters(&report.points),
            header => Serde(table.header()),
            rows => table.rounded(),
        }
    });
    environment.get_template("report")?.render(context! {
        heading => Serde(heading),
        figures => figures.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
