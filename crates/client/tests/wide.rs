//! Directories whose buckets are on several servers, and clients that cache them under leases.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{Cluster, User, make_directory, make_file, name, names, splitting_early};
use futago_base::{Duration, FileId, NameHash};
use futago_client::Context as _;

const FILES: usize = 200;

/// A wide directory, and a caching client that has made its files.
struct Wide {
    cluster: Cluster,
    client: User,
    directory: FileId,
}

impl Wide {
    fn new() -> Self {
        let cluster = splitting_early(4);
        let client = cluster.caching_client();
        let made = make_directory(&client, FileId::ROOT, "wide");
        let directory = cluster.run(cluster.answering(&client, made));
        let wide = Self {
            cluster,
            client,
            directory,
        };
        for number in 0..FILES {
            let text = text(number);
            let made = make_file(&wide.client, directory, &text);
            wide.cluster.run(wide.cluster.answering(&wide.client, made));
        }
        // The last split has recalled a lease.
        let paused = wide.client.context().sleep(Duration::from_secs(2));
        wide.cluster
            .run(wide.cluster.answering(&wide.client, paused));
        wide
    }

    /// The requests that a future sends.
    fn requests<T>(&self, future: impl Future<Output = T>) -> Vec<String> {
        let (_, sent) = self
            .cluster
            .traced(self.cluster.answering(&self.client, future));
        sent.into_iter().map(|(_, name)| name).collect()
    }

    /// The same directory as another caching client sees it.
    fn of_another_client() -> Self {
        let made = Self::new();
        let client = made.cluster.caching_client();
        Self { client, ..made }
    }

    /// The requests that look up the first files, each by its name.
    fn look_up(&self, files: usize) -> Vec<String> {
        self.requests(async {
            for number in 0..files {
                let name = name(&text(number));
                self.client.lookup(self.directory, &name).await.unwrap();
            }
        })
    }

    /// The requests of a walk over the directory.
    fn walk(&self) -> Vec<String> {
        self.requests(async {
            let found = names(&self.client, self.directory).await.unwrap();
            assert_eq!(found.len(), FILES);
            for text in found {
                self.client
                    .lookup(self.directory, &name(&text))
                    .await
                    .unwrap();
            }
            let state = self.client.attributes(self.directory).await.unwrap();
            assert_eq!(state.attributes.size, FILES as u64);
        })
    }
}

fn text(number: usize) -> String {
    format!("file-{number}")
}

#[test]
fn a_second_walk_asks_no_server() {
    let wide = Wide::new();
    assert_ne!(wide.walk(), [""; 0]);
    assert_eq!(wide.walk(), [""; 0]);
}

#[test]
fn a_first_walk_reads_attributes_ahead() {
    let wide = Wide::of_another_client();
    let first = wide.walk();
    let asked = first.iter().filter(|name| *name == "GetAttributesAhead");
    assert!((1..FILES / 8).contains(&asked.count()), "{first:?}");
    assert!(!first.contains(&"Lookup".to_owned()), "{first:?}");
    assert_eq!(wide.walk(), [""; 0]);
}

#[test]
fn many_look_ups_list_a_directory() {
    let sent = Wide::of_another_client().look_up(FILES);
    let count = |request: &str| sent.iter().filter(|name| *name == request).count();
    assert!((1..FILES / 3).contains(&count("Lookup")), "{sent:?}");
    assert!((1..FILES / 8).contains(&count("ReadDirectory")), "{sent:?}");
}

#[test]
fn a_few_look_ups_list_nothing() {
    let sent = Wide::of_another_client().look_up(FILES / 16);
    assert!(!sent.contains(&"ReadDirectory".to_owned()), "{sent:?}");
}

#[test]
fn a_removal_is_one_request_and_waits_for_no_timer() {
    let wide = Wide::new();
    wide.walk();
    let begun = wide.cluster.now();
    let mut sent = Vec::new();
    for number in 0..FILES {
        let name = name(&text(number));
        sent.extend(wide.requests(async {
            wide.client.unlink(wide.directory, &name).await.unwrap();
        }));
    }
    sent.retain(|name| name != "RecallAhead");
    assert_eq!(sent, ["Unlink"; FILES]);
    let took = wide.cluster.now().since(begun);
    assert!(
        took < Duration::from_millis(10),
        "each message takes 1 us: {took:?}"
    );
}

#[test]
fn removals_of_what_others_cache_recall_many_leases_at_once() {
    let cluster = Cluster::new(1, futago_server::Config::default());
    let (remover, other) = (cluster.caching_client(), cluster.caching_client());
    let root = FileId::ROOT;
    let listed = cluster.run(async {
        for number in 0..FILES {
            make_file(&remover, root, &text(number)).await;
        }
        remover
            .read_directory(root, NameHash(0), FILES as u32, false)
            .await
    });
    let listed = listed.unwrap();
    cluster.run(cluster.answering(&remover, async {
        for entry in &listed {
            other.lookup(root, &entry.name).await.unwrap();
        }
        // The recalls of the creator's leases are over.
        other.context().sleep(Duration::from_secs(2)).await;
        names(&remover, root).await.unwrap();
        for entry in &listed {
            other.lookup(root, &entry.name).await.unwrap();
        }
    }));
    let removed = cluster.answering(&remover, async {
        for entry in &listed {
            remover.unlink(root, &entry.name).await.unwrap();
        }
    });
    let ((), sent) = cluster.traced(cluster.answering(&other, removed));
    let returned = sent.iter().filter(|(_, name)| name == "GiveBack").count();
    assert!((1..FILES / 8).contains(&returned), "{returned}");
}

#[test]
fn a_change_by_another_client_is_asked_for_at_its_server_only() {
    let wide = Wide::new();
    wide.walk();
    let other = wide.cluster.client();
    let made = make_file(&other, wide.directory, "one more");
    wide.cluster.run(wide.cluster.answering(&wide.client, made));
    let seen = async {
        let state = wide.client.attributes(wide.directory).await.unwrap();
        assert_eq!(state.attributes.size, FILES as u64 + 1);
    };
    assert_eq!(wide.requests(seen).len(), 1);
}
