//! A figure as SVG.

use super::FigureReport;
use crate::results::PointResult;
use kuva::{
    backend::svg::SvgBackend,
    plot::{LinePlot, ScatterPlot, legend::LegendPosition},
    render::{layout::Layout, plots::Plot, render::render_multiple},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Colours that colour-blind readers can distinguish (Okabe and Ito, 2008), without yellow.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000",
];

/// A line: its name, and the measured value and the bound at each position.
#[derive(Default)]
struct Line {
    measured: Vec<(f64, f64)>,
    bound: Vec<(f64, f64)>,
}

/// The figure as SVG; a sentence if there are no points.
pub fn svg(report: &FigureReport) -> String {
    let figure = &report.figure;
    let lines = lines(report);
    if lines.is_empty() {
        return "<p>No point has both values.</p>".to_owned();
    }
    let mut plots = Vec::new();
    for (number, (name, line)) in lines.iter().enumerate() {
        draw(&mut plots, name, line, COLOURS[number % COLOURS.len()]);
    }
    let label = |label: &Option<String>, name: &str| label.clone().unwrap_or(name.to_owned());
    let mut layout = Layout::auto_from_plots(&plots)
        .with_width(760.0)
        .with_height(420.0)
        .with_x_label(label(&figure.x_label, &figure.x))
        .with_y_label(label(&figure.y_label, &figure.y))
        .with_y_axis_min(0.0)
        .with_font_family("system-ui, sans-serif")
        .with_legend_position(LegendPosition::OutsideRightTop);
    if let Some(series) = &figure.series {
        layout = layout.with_legend_title(series.clone());
    }
    if figure.log_x {
        layout = layout.with_log_x();
    }
    SvgBackend::new().render_scene(&render_multiple(plots, layout))
}

fn draw(plots: &mut Vec<Plot>, name: &str, line: &Line, colour: &str) {
    let whole = LinePlot::new()
        .with_data(line.measured.clone())
        .with_color(colour)
        .with_stroke_width(2.0);
    let whole = match name {
        "" => whole,
        name => whole.with_legend(name),
    };
    plots.push(Plot::Line(whole));
    let marks = ScatterPlot::new()
        .with_data(line.measured.clone())
        .with_color(colour)
        .with_size(3.5);
    plots.push(Plot::Scatter(marks));
    if !line.bound.is_empty() {
        let bound = LinePlot::new()
            .with_data(line.bound.clone())
            .with_color(colour)
            .with_stroke_width(1.0)
            .with_dashed();
        plots.push(Plot::Line(bound));
    }
}

/// The lines by name, with numeric names in numeric order.
fn lines(report: &FigureReport) -> Vec<(String, Line)> {
    let mut lines: BTreeMap<(u64, String), Line> = BTreeMap::new();
    for (number, point) in report.points.iter().enumerate() {
        let x = point.figure(&report.figure.x);
        let y = point.figure(&report.figure.y);
        let (Some(x), Some(y)) = (x, y) else {
            continue;
        };
        let line = lines.entry(series(report, point)).or_default();
        line.measured.push((x, y));
        let check = report.checks.get(number);
        let bound = check
            .and_then(|check| check.get("bound"))
            .and_then(Value::as_f64);
        line.bound.extend(bound.map(|bound| (x, bound)));
    }
    for line in lines.values_mut() {
        line.measured.sort_by(|a, b| a.0.total_cmp(&b.0));
        line.bound.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
        .into_iter()
        .map(|((_, name), line)| (name, line))
        .collect()
}

fn series(report: &FigureReport, point: &PointResult) -> (u64, String) {
    let key = report.figure.series.as_ref();
    match key.and_then(|key| point.parameters.get(key)) {
        Some(Value::String(name)) => (0, name.clone()),
        Some(value) => (value.as_u64().unwrap_or(0), value.to_string()),
        None => (0, String::new()),
    }
}
