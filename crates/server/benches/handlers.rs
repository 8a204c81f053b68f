//! Measures the handlers of the most frequent requests with the store and nothing else: no
//! messages, no encoding, no other process. The result bounds the requests per second of a server.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use futago_base::{
    BucketStart, ClusterMap, Duration, FileId, Name, Payload, RequestId, ServerId, SessionId, Time,
    map::Policy,
};
use futago_server::{Config, Input, Output, Server};
use futago_store::MemoryStore;
use futago_wire::{NewContent, NewNode, Request, Spot};

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Files in the directory. Requests visit them in a permuted order, not in the order of creation.
const FILES: u64 = 20_000;

/// A server with one directory in which the benchmark creates, finds and removes names.
#[derive(Debug)]
struct Bench {
    server: Server,
    store: MemoryStore,
    now: Time,
    sequence: u64,
}

impl Bench {
    fn new() -> Self {
        let map = ClusterMap::new(1, Policy::Modular, 64, 1).expect("a map");
        let server = Server::new(ServerId(0), map, Config::default());
        let now = Time(1_000_000_000_000);
        let mut store = MemoryStore::new(1 << 34);
        store.apply(server.genesis(&store, now));
        let sequence = 0;
        Self {
            server,
            store,
            now,
            sequence,
        }
    }

    fn with_files() -> Self {
        let mut bench = Self::new();
        bench.each(create);
        bench
    }

    /// Handles one request for each file.
    fn each(&mut self, request: impl Fn(Spot) -> Request) {
        for number in 0..FILES {
            // An odd multiplier visits every residue once.
            let number = number.wrapping_mul(7_919) % FILES;
            self.ask(request(spot(number)));
        }
    }

    fn ask(&mut self, request: Request) {
        self.now = self.now + Duration::from_micros(1);
        self.sequence += 1;
        let id = RequestId {
            session: SessionId(7),
            sequence: self.sequence,
        };
        let input = Input::Request {
            id,
            acknowledged: self.sequence - 1,
            request,
            payload: Payload::empty(),
            leases: false,
            introduces: true,
        };
        let decision = self.server.handle(&self.store, input, self.now);
        self.store.apply(decision.batch);
        assert!(matches!(
            decision.outputs[..],
            [Output::Reply { outcome: Ok(_), .. }]
        ));
    }
}

fn spot(number: u64) -> Spot {
    Spot {
        directory: FileId::ROOT,
        bucket: BucketStart(0),
        name: Name::new(format!("file.{number:08}").into_bytes()).expect("a name"),
    }
}

fn create(at: Spot) -> Request {
    Request::Create {
        at,
        node: NewNode {
            content: NewContent::File {
                chunk_bytes: 1 << 20,
            },
            mode: 0o644,
            uid: 1000,
            gid: 1000,
        },
        exclusive: true,
        open: false,
    }
}

fn handlers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("handlers");
    group
        .throughput(Throughput::Elements(FILES))
        .sample_size(20);
    group.bench_function("create", |bencher| {
        bencher.iter_batched_ref(
            Bench::new,
            |bench| bench.each(create),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("lookup", |bencher| {
        let mut bench = Bench::with_files();
        bencher.iter(|| bench.each(Request::Lookup));
    });
    group.bench_function("unlink", |bencher| {
        bencher.iter_batched_ref(
            Bench::with_files,
            |bench| bench.each(|at| Request::Unlink { at, file: None }),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, handlers);
criterion_main!(benches);
