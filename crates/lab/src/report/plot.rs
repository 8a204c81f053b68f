//! A figure as SVG.
//!
//! The lines are drawn with `kuva`'s primitives, because its `render_multiple` brings every kind of
//! plot into the program.

use super::FigureReport;
use crate::{results::PointResult, study::Figure};
use kuva::{
    backend::svg::SvgBackend,
    plot::{
        legend::{LegendEntry, LegendShape},
        line::LineStyle,
    },
    render::{
        axis::{add_axes_and_grid, add_labels_and_title},
        color::Color,
        layout::{ComputedLayout, Layout},
        render::{Primitive, Scene, render_legend_at},
    },
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
    let lines = lines(report);
    if lines.is_empty() {
        return "<p>No point has both values.</p>".to_owned();
    }
    let layout = layout(&report.figure, &lines);
    let computed = ComputedLayout::from_layout(&layout);
    let mut scene = Scene::new(computed.width, computed.height);
    scene.font_family.clone_from(&computed.font_family);
    scene.text_color = Some(computed.theme.text_color.clone());
    add_axes_and_grid(&mut scene, &computed, &layout);
    add_labels_and_title(&mut scene, &computed, &layout);
    for ((_, line), colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        draw(&mut scene, &computed, line, colour);
    }
    draw_legend(&mut scene, &computed, &layout);
    SvgBackend::new().render_scene(&scene)
}

fn layout(figure: &Figure, lines: &[(String, Line)]) -> Layout {
    let mut layout = axes(figure, lines)
        .with_width(760.0)
        .with_height(420.0)
        .with_font_family("system-ui, sans-serif");
    let entries = legend_entries(lines);
    if !entries.is_empty() {
        layout = layout.with_legend_entries(entries);
    }
    if let Some(series) = &figure.series {
        layout = layout.with_legend_title(series.clone());
    }
    layout
}

fn axes(figure: &Figure, lines: &[(String, Line)]) -> Layout {
    let points = || {
        let lines = lines.iter().map(|(_, line)| line);
        lines.flat_map(|line| line.measured.iter().chain(&line.bound))
    };
    let x = extent(points().map(|point| point.0));
    let y = extent(points().map(|point| point.1));
    let label = |label: &Option<String>, name: &str| label.clone().unwrap_or(name.to_owned());
    let mut layout = Layout::new(with_margin(x.0, x.1), with_margin(y.0, y.1))
        .with_x_label(label(&figure.x_label, &figure.x))
        .with_y_label(label(&figure.y_label, &figure.y))
        .with_y_axis_min(0.0);
    (layout.data_x_range, layout.data_y_range) = (Some(x), Some(y));
    if figure.log_x {
        layout = layout.with_log_x();
    }
    layout
}

/// The least and the greatest value.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// The range of an axis. It begins at zero unless the values are far from zero for their distance.
fn with_margin(low: f64, high: f64) -> (f64, f64) {
    let span = high - low;
    if low > span && span > 0.0 {
        (low - 0.05 * span, high + 0.05 * span)
    } else {
        (low.min(0.0), high + 0.01 * span)
    }
}

/// The named lines, in their colours.
fn legend_entries(lines: &[(String, Line)]) -> Vec<LegendEntry> {
    let lines = lines.iter().zip(COLOURS.iter().cycle());
    let named = lines.filter(|((name, _), _)| !name.is_empty());
    let entries = named.map(|((name, _), colour)| LegendEntry {
        label: name.clone(),
        color: (*colour).to_owned(),
        shape: LegendShape::Line,
        dasharray: None,
    });
    entries.collect()
}

fn draw(scene: &mut Scene, computed: &ComputedLayout, line: &Line, colour: &str) {
    let place = |&(x, y): &(f64, f64)| (computed.map_x(x), computed.map_y(y));
    let measured: Vec<_> = line.measured.iter().map(place).collect();
    let (cx, cy) = measured.iter().copied().unzip();
    scene.add(Primitive::PolyLine {
        points: measured,
        stroke: Color::from(colour),
        stroke_width: 2.0,
        stroke_dasharray: None,
    });
    scene.add(Primitive::CircleBatch {
        cx,
        cy,
        r: 3.5,
        fill: Color::from(colour),
        fill_opacity: None,
        stroke: None,
        stroke_width: None,
    });
    scene.add(Primitive::PolyLine {
        points: line.bound.iter().map(place).collect(),
        stroke: Color::from(colour),
        stroke_width: 1.0,
        stroke_dasharray: LineStyle::Dashed.dasharray(),
    });
}

/// Draws the legend right of the plot.
fn draw_legend(scene: &mut Scene, computed: &ComputedLayout, layout: &Layout) {
    let Some(entries) = &layout.legend_entries else {
        return;
    };
    render_legend_at(
        entries,
        None,
        layout.legend_title.as_deref(),
        layout.legend_box,
        scene,
        computed.width - computed.margin_right + 10.0,
        computed.margin_top,
        computed.legend_width,
        computed.body_size,
        &computed.theme,
    );
}

/// The lines by name, with numeric names in numeric order.
fn lines(report: &FigureReport) -> Vec<(String, Line)> {
    let mut lines: BTreeMap<(u64, String), Line> = BTreeMap::new();
    for (number, point) in report.points.iter().enumerate() {
        let x = report.value(number, &report.figure.x);
        let y = report.value(number, &report.figure.y);
        let (Some(x), Some(y)) = (x, y) else {
            continue;
        };
        let line = lines.entry(series(report, point)).or_default();
        line.measured.push((x, y));
        let bound = report.value(number, "bound");
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
