use super::*;
use crate::results::{
    Bound, LatencySummary, OperationResult, PhaseResult, ResourceResult, TransactionResult,
};
use std::collections::BTreeMap;

fn point(servers: u64, clients: u64) -> PointResult {
    let per_s = (servers * 1000).min(clients * 100) as f64;
    let latency_us = LatencySummary {
        p50: 1234.5,
        p99: 9.876_54,
        mean: 1.0,
    };
    let operation = OperationResult {
        count: 10,
        errors: BTreeMap::from([("EIO".to_owned(), 2)]),
        mib_per_s: 0.0,
        per_s,
        latency_us,
    };
    let resource = ResourceResult {
        units: 1,
        utilisation_max: per_s / (servers * 1000) as f64,
        ..ResourceResult::default()
    };
    let mut phase = PhaseResult {
        name: "create".to_owned(),
        measured_s: 1.0,
        operations: BTreeMap::from([("create".to_owned(), operation)]),
        transactions: TransactionResult {
            begun: servers - 2,
            committed_per_s: 0.1,
            ..TransactionResult::default()
        },
        sources: None,
        left: None,
        resources: BTreeMap::from([("server-nic-send".to_owned(), resource)]),
        bound: Bound::default(),
    };
    phase.find_bound(clients as u32);
    let parameters = [
        ("cluster.servers", servers),
        ("cluster.clients", clients),
        ("seed", 1),
    ];
    let parameters = parameters.map(|(key, value)| (key.to_owned(), value.into()));
    PointResult::collect(parameters.into(), vec![phase])
}

fn report() -> FigureReport {
    let figure = Figure {
        name: "fig".to_owned(),
        title: "More <servers>".to_owned(),
        scenario: "fig.toml".to_owned(),
        claim: "grows & saturates".to_owned(),
        finding: String::new(),
        x: "cluster.clients".to_owned(),
        y: "throughput.create".to_owned(),
        series: Some("cluster.servers".to_owned()),
        x_label: Some("clients".to_owned()),
        y_label: None,
        log_x: false,
        alone: false,
        check: Vec::new(),
    };
    let points = vec![point(2, 10), point(2, 30), point(10, 10), point(10, 30)];
    let check = |bound: u64| Map::from_iter([("bound".to_owned(), Value::from(bound))]);
    FigureReport {
        figure,
        scenario: serde_json::json!({
            "cluster": {"servers": 2},
            "description": "a <small> one",
            "machine": {"network": {"startup_ns": 32_000}},
        }),
        points,
        checks: [1000, 2000, 1000, 3000].map(check).into(),
    }
}

fn page() -> String {
    let heading = Heading {
        title: "A study".to_owned(),
        about: "of things".to_owned(),
        version: "futago 1".to_owned(),
    };
    html(&heading, &[report()]).unwrap()
}

#[test]
fn a_table_has_what_varies_and_what_came_of_it() {
    let table = report().table();
    insta::assert_snapshot!(table.to_text());
    let mut csv = Vec::new();
    table.write_csv(&mut csv).unwrap();
    insta::assert_snapshot!(String::from_utf8(csv).unwrap());
}

#[test]
fn a_page_holds_claim_plot_parameters_and_table_and_loads_nothing() {
    let page = page();
    let (before, rest) = page.split_once("<svg").unwrap();
    let (svg, after) = rest.split_once("</svg>").unwrap();
    assert_eq!(page.matches("<svg").count(), 1);
    for forbidden in ["<script", "<link", "<img", "@import", "url(http"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    let body = &before[before.find("<body>").unwrap()..];
    insta::assert_snapshot!(format!("{body}<svg…</svg>{after}"));
    assert!(svg.contains("clients") && svg.contains("throughput.create"));
}

#[test]
fn a_plot_has_a_line_for_every_series_and_a_broken_one_for_its_bound() {
    let svg = plot::svg(&report());
    assert_eq!(svg.matches("stroke-dasharray").count(), 2, "{svg}");
    let (two, ten) = (svg.find(">2<"), svg.find(">10<"));
    assert!(two.is_some() && ten.is_some());
    let mut nothing = report();
    nothing.figure.y = "bound".to_owned();
    assert!(
        plot::svg(&nothing).contains("</svg>"),
        "a column of the check"
    );
    nothing.figure.y = "throughput.nothing".to_owned();
    assert_eq!(plot::svg(&nothing), "<p>No point has both values.</p>");
}
