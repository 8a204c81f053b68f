use super::*;

fn parse(lines: &[&str]) -> Result<Trace, String> {
    let text = [&["{\"futago_trace\":1}"], lines].concat().join("\n");
    Trace::parse("t.jsonl", &text).map_err(|problem| problem.to_string())
}

/// The steps of a process, with the think time before each.
fn program(trace: &Trace, process: usize) -> Vec<String> {
    let steps = trace.processes[process].iter();
    let shown = steps.map(|step| match &step.action {
        Action::Find { file, path } => {
            format!("{} find {file} {}", step.think_ns, path.escape_ascii())
        }
        Action::Perform(operation) => {
            let json = serde_json::to_string(operation).unwrap();
            format!("{} {json}", step.think_ns)
        }
    });
    shown.collect()
}

#[test]
fn the_time_between_operations_is_recorded_and_that_within_is_not() {
    let trace = parse(&[
        r#"{"process":7,"begin_ns":100,"took_ns":50,"operation":{"get-attributes":{"file":0}}}"#,
        r#"{"process":7,"begin_ns":175,"took_ns":30,"operation":{"open":{"file":0}}}"#,
        r#"{"process":7,"begin_ns":180,"took_ns":5,"operation":{"close":{"file":0}}}"#,
        r#"{"process":7,"begin_ns":305,"took_ns":5,"operation":{"read-link":{"file":0}}}"#,
    ]);
    let expected = [
        r#"100 {"get-attributes":{"file":0}}"#,
        r#"25 {"open":{"file":0}}"#,
        r#"0 {"close":{"file":0}}"#,
        r#"100 {"read-link":{"file":0}}"#,
    ];
    assert_eq!(program(&trace.unwrap(), 0), expected);
}

#[test]
fn lines_may_stand_in_any_order_and_processes_have_any_numbers() {
    let trace = parse(&[
        r#"{"process":90,"begin_ns":30,"took_ns":1,"operation":{"read":{"file":4,"offset":0,"length":9}}}"#,
        r#"{"process":3,"begin_ns":5,"took_ns":1,"operation":{"open":{"file":0}}}"#,
        r#"{"process":90,"begin_ns":10,"took_ns":1,"operation":{"create":{"in":0,"name":"a","file":4}}}"#,
    ]);
    let trace = trace.unwrap();
    assert_eq!(program(&trace, 0), [r#"5 {"open":{"file":0}}"#]);
    let create = r#"10 {"create":{"in":0,"name":"a","file":4}}"#;
    let read = r#"19 {"read":{"file":4,"offset":0,"length":9}}"#;
    assert_eq!(program(&trace, 1), [create, read]);
}

/// Renames of a file's directory move it, too.
#[test]
fn a_process_finds_what_another_one_has_made_where_it_is_by_then() {
    let trace = parse(&[
        r#"{"exists":{"file":1,"in":0,"name":"d","kind":"directory"}}"#,
        r#"{"process":1,"begin_ns":0,"took_ns":1,"operation":{"stat":{"in":0,"name":"d","file":1}}}"#,
        r#"{"process":1,"begin_ns":2,"took_ns":1,"operation":{"create":{"in":1,"name":"f%25","file":2}}}"#,
        r#"{"process":1,"begin_ns":4,"took_ns":1,"operation":{"rename":{"in":0,"name":"d","new_in":0,"new_name":"e"}}}"#,
        r#"{"process":2,"begin_ns":6,"took_ns":1,"operation":{"open":{"file":2}}}"#,
        r#"{"process":2,"begin_ns":8,"took_ns":1,"operation":{"close":{"file":2}}}"#,
        r#"{"process":1,"begin_ns":9,"took_ns":1,"operation":{"unlink":{"in":1,"name":"f%25"}}}"#,
        r#"{"process":3,"begin_ns":12,"took_ns":1,"operation":{"open":{"file":2}}}"#,
    ]);
    let trace = trace.unwrap();
    let expected = [
        "6 find 2 e/f%",
        r#"0 {"open":{"file":2}}"#,
        r#"1 {"close":{"file":2}}"#,
    ];
    assert_eq!(program(&trace, 1), expected);
    assert_eq!(program(&trace, 2), [r#"12 {"open":{"file":2}}"#]);
}

#[test]
fn files_found_by_operations_are_prepared() {
    let trace = parse(&[
        r#"{"exists":{"file":1,"in":0,"name":"d","kind":"directory"}}"#,
        r#"{"exists":{"file":2,"in":1,"name":"f","kind":{"file":{"size":1048580}}}}"#,
        r#"{"process":1,"begin_ns":0,"took_ns":1,"operation":{"stat":{"in":0,"name":"d","file":1}}}"#,
    ]);
    let mut trace = trace.unwrap();
    trace.processes = vec![trace.preparation.clone()];
    let expected = [
        r#"0 {"make-directory":{"in":0,"name":"d","file":1}}"#,
        "0 find 1 d",
        r#"0 {"create":{"in":1,"name":"f","file":2}}"#,
        r#"0 {"write":{"file":2,"offset":0,"length":1048576}}"#,
        r#"0 {"write":{"file":2,"offset":1048576,"length":4}}"#,
    ];
    assert_eq!(program(&trace, 0), expected);
}

#[test]
fn mistakes_are_reported() {
    let open = |rest: &str| {
        let line = format!(r#"{{"process":1,"begin_ns":0,"took_ns":1,{rest}}}"#);
        parse(&["", &line])
    };
    let exists = |rest: &str| {
        let line = format!(r#"{{"exists":{{"name":"a",{rest}}}}}"#);
        parse(&[
            &line,
            r#"{"process":1,"begin_ns":0,"took_ns":1,"operation":{"open":{"file":0}}}"#,
        ])
    };
    let text = |text: &str| Trace::parse("t.jsonl", text).map_err(|problem| problem.to_string());
    let errors = [
        text(""),
        text("[workload]"),
        text("{\"futago_trace\":2}"),
        text("{\"process\":1}"),
        parse(&[]),
        open(""),
        open(r#""operation":{"opn":{"file":0}}"#),
        open(r#""operation":{"open":{"file":0,"offset":3}}"#),
        open(r#""operation":{"open":{"file":-1}}"#),
        open(r#""operation":{"open":{"file":18446744073709551615}}"#),
        open(r#""operation":{"open":{"file":null}}"#),
        open(r#""operation":{"read":{"file":0,"offset":0}}"#),
        open(r#""operation":{"read":{"file":0,"offset":0,"length":4294967296}}"#),
        open(r#""operation":{"write":{"file":0,"offset":0,"length":4294967297}}"#),
        open(r#""operation":{"write":{"file":0,"offset":9223372036854775807,"length":1}}"#),
        open(r#""operation":{"open":{"file":5}}"#),
        open(r#""operation":{"unlink":{"in":0,"name":"a/b"}}"#),
        open(r#""operation":{"unlink":{"in":0,"name":"a%2"}}"#),
        open(r#""operation":{"symlink":{"in":0,"name":"a","size":5000}}"#),
        open(r#""operation":{"open":{"file":0}},"error":"ENOENTRY""#),
        open(r#""operation":{"stat":{"in":0,"name":"a","file":1}},"error":"ENOENT""#),
        open(r#""operation":{"open":{"file":0}},"thinks":3"#),
        parse(&[
            r#"{"process":1,"begin_ns":0,"took_ns":1,"operation":{"open":{"file":0}}}"#,
            r#"{"end":{"operations":2,"left_out":0}}"#,
        ]),
        exists(r#""file":1,"in":7,"kind":"directory""#),
        exists(r#""file":0,"in":0,"kind":"directory""#),
        exists(r#""file":1,"in":0,"kind":"dir""#),
        exists(r#""file":1,"in":0"#),
        exists(r#""file":1,"in":0,"kind":{"file":{"size":1099511627777}}"#),
    ];
    let text: Vec<String> = errors.into_iter().map(|e| e.unwrap_err()).collect();
    insta::assert_snapshot!(text.join("\n"));
}

/// A crash in the middle of a line, and one in the middle of a letter.
#[test]
fn a_torn_last_line_is_not_there() {
    let whole = concat!(
        "{\"futago_trace\":1}\n",
        r#"{"process":1,"begin_ns":5,"took_ns":1,"operation":{"open":{"file":0}}}"#,
        "\n",
    );
    let line = r#"{"exists":{"file":1,"in":0,"name":"ü","kind":"directory"}}"#;
    let path = tempfile::tempdir().unwrap();
    let path = path.path().join("t.jsonl");
    for end in 0..line.len() {
        std::fs::write(&path, [whole.as_bytes(), &line.as_bytes()[..end]].concat()).unwrap();
        let trace = Trace::load(&path).unwrap();
        assert_eq!(program(&trace, 0), [r#"5 {"open":{"file":0}}"#]);
        assert_eq!(trace.preparation, []);
    }
    std::fs::write(&path, [whole, line].concat()).unwrap();
    assert_eq!(Trace::load(&path).unwrap().preparation.len(), 2);
}

/// Rewritten data and holes take no space.
#[test]
fn files_hold_what_has_been_written_once() {
    let line = |operation: &str| {
        format!(r#"{{"process":1,"begin_ns":0,"took_ns":1,"operation":{{{operation}}}}}"#)
    };
    let lines = [
        r#"{"exists":{"file":1,"in":0,"name":"f","kind":{"file":{"size":1000}}}}"#.to_owned(),
        line(r#""write":{"file":1,"offset":100,"length":900}"#),
        line(r#""append":{"file":1,"length":50}"#),
        line(r#""create":{"in":0,"name":"g","file":2,"length":3}"#),
        line(r#""write":{"file":2,"offset":1000000,"length":4}"#),
        line(r#""copy":{"file":1,"offset":0,"to":2,"to_offset":1000000,"length":9}"#),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(parse(&lines).unwrap().held_bytes(), 1050 + 16);
}
