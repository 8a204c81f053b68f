//! A long optimistic run under the worst conditions stays within its memory.

use std::process::Command;

/// Nearly all work in one partition, hardly any lookahead, processes of very different speed.
#[test]
#[ignore = "takes minutes"]
fn a_badly_balanced_run_stays_within_its_memory() {
    let limit_mib = 24u64;
    let run = |executor: &str| {
        let arguments = "phold --lps 8192 --start-events 4 --lookahead 0.000001 --skew 100 \
                         --remote 0.5 --end 10000 --threads 2 --gvt-interval 4096 --json";
        let output = Command::new(env!("CARGO_BIN_EXE_futago-des"))
            .args(arguments.split_whitespace())
            .args(["--memory-mib", &limit_mib.to_string()])
            .args(["--executor", executor])
            .output()
            .expect("starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let (expected, found) = (run("sequential"), run("optimistic"));
    assert_eq!(found["digest"], expected["digest"]);
    assert!(
        found["events_rolled_back"].as_u64() > Some(0),
        "nothing went wrong: no soak"
    );
    let peak = found["peak_rss_bytes"].as_u64().expect("a number");
    assert!(peak <= limit_mib << 20, "{peak} bytes");
}
