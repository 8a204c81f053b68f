//! A long optimistic run under the worst conditions stays within its memory.

use futago_des::models::phold::{Holder, Phold};
use futago_des::watch::peak_resident_bytes;
use futago_des::{Executor, Model, Outcome, Placement, ProcessId, Settings, Time, Topology, run};

/// PHOLD with nearly all processes in the first partition, and so nearly all work.
struct Lopsided(Phold);

impl Model for Lopsided {
    type Process = Holder;

    fn process_count(&self) -> u32 {
        self.0.process_count()
    }

    fn create(&self, id: ProcessId) -> Holder {
        self.0.create(id)
    }

    fn topology(&self) -> Topology {
        self.0.topology()
    }

    fn partition_hint(&self, id: ProcessId, partitions: u32) -> u32 {
        if id.0.is_multiple_of(16) {
            1 + id.0 / 16 % (partitions - 1)
        } else {
            0
        }
    }
}

const MEMORY_BYTES: u64 = 24 << 20;

fn run_with(executor: Executor, threads: u32) -> Outcome<Holder> {
    let model = Lopsided(Phold {
        processes: 8192,
        start_events: 4,
        lookahead_s: 1e-6,
        remote: 0.5,
        skew: 100.0,
        ..Phold::default()
    });
    let mut settings = Settings {
        executor,
        threads,
        placement: Placement::Hint,
        end: Time::from_seconds(10_000.0),
        gvt_interval: 4096,
        ..Settings::default()
    };
    settings.stay_within(MEMORY_BYTES).expect("is enough");
    run(&model, &settings).expect("runs")
}

/// One test in its own process, because the operating system reports memory per process.
#[test]
#[ignore = "takes minutes; crates/des/proof.sh soak runs it"]
fn a_badly_balanced_run_stays_within_its_memory() {
    for threads in [2, 4] {
        let found = run_with(Executor::Optimistic, threads).statistics;
        let peak_bytes = peak_resident_bytes().expect("Linux tells");
        println!(
            "{threads} threads: {} events by partition, {} rolled back, at most {} records, {} GVT \
             rounds, {} of {} MiB",
            found
                .events_by_partition
                .iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join("/"),
            found.events_rolled_back,
            found.history_peak,
            found.gvt_rounds,
            peak_bytes >> 20,
            MEMORY_BYTES >> 20,
        );
        assert!(peak_bytes <= MEMORY_BYTES, "{peak_bytes} bytes");
        let others: u64 = found.events_by_partition[1..].iter().sum();
        assert!(found.events_by_partition[0] > 10 * others, "well balanced");
        assert!(found.events_rolled_back > 0, "nothing went wrong: no soak");
        let expected = run_with(Executor::Sequential, 1).statistics;
        assert_eq!(found.digest, expected.digest);
    }
}
