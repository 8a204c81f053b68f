//! A contact server answers what clients near to it ask about files of other servers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{Cluster, User, make_file, name};
use futago_base::{Duration, FileId, ServerId};
use futago_client::{Config, Context as _};

const ROOT: FileId = FileId::ROOT;
const CONTACT: ServerId = ServerId(1);
const HOME: u16 = 0;

/// A client that caches, and has a contact server.
fn client(cluster: &Cluster) -> User {
    cluster.client_of(Config {
        lease_trust: Some(Duration::from_secs(15)),
        contact: Some(CONTACT),
        ..Config::default()
    })
}

fn cluster() -> Cluster {
    Cluster::new(2, futago_server::Config::default())
}

/// Looks the file up and opens it.
async fn open(client: &User) -> FileId {
    let found = client.lookup(ROOT, &name("a")).await.unwrap();
    let id = found.attributes.id;
    client.open(id).await.unwrap();
    id
}

fn requests_at(sent: &[(u16, String)], server: u16) -> Vec<&str> {
    let here = sent.iter().filter(|(to, _)| *to == server);
    here.map(|(_, name)| name.as_str()).collect()
}

#[test]
fn later_clients_open_a_file_without_its_home() {
    let cluster = cluster();
    cluster.run(make_file(&cluster.client(), ROOT, "a"));
    let (_, sent) = cluster.traced(open(&client(&cluster)));
    assert_eq!(requests_at(&sent, HOME), ["Lookup"]);
    for _ in 0..3 {
        let (_, sent) = cluster.traced(open(&client(&cluster)));
        assert_eq!(requests_at(&sent, HOME), [""; 0]);
        assert_eq!(requests_at(&sent, CONTACT.0), ["Consult"]);
    }
}

#[test]
fn a_file_that_is_open_under_a_relayed_lease_outlives_its_name() {
    let cluster = cluster();
    let (changer, first, second) = (cluster.client(), client(&cluster), client(&cluster));
    cluster.run(make_file(&changer, ROOT, "a"));
    cluster.run(async {
        open(&first).await;
        let id = open(&second).await;
        assert_eq!(second.unregistered_opens(), [(id, 1)]);
        let a = name("a");
        let unlink = changer.unlink(ROOT, &a);
        let unlink = cluster.answering(&first, unlink);
        cluster.answering(&second, unlink).await.unwrap();
        assert_eq!(second.unregistered_opens(), []);
        assert!(second.lookup(ROOT, &name("a")).await.is_err());
        assert!(second.attributes(id).await.is_ok(), "the file is open");
        second.close(id).await.unwrap();
        first.close(id).await.unwrap();
    });
    cluster.settle();
    assert_eq!(cluster.held().0, 1, "the root is left");
}

#[test]
fn the_home_learns_of_opens_under_relayed_leases_with_the_next_keep_alive() {
    let cluster = cluster();
    cluster.run(make_file(&cluster.client(), ROOT, "a"));
    let (first, second) = (client(&cluster), client(&cluster));
    cluster.run(open(&first));
    let id = cluster.run(open(&second));
    cluster.run(second.keep_alive()).unwrap();
    assert_eq!(second.unregistered_opens(), []);
    cluster.run(first.keep_alive()).unwrap();
    assert_eq!(
        first.unregistered_opens(),
        [(id, 1)],
        "its lease is of the home"
    );
}

#[test]
fn a_relayed_lease_is_not_used_longer_than_it_lasts() {
    let cluster = cluster();
    cluster.run(make_file(&cluster.client(), ROOT, "a"));
    cluster.run(open(&client(&cluster)));
    let second = client(&cluster);
    let id = cluster.run(open(&second));
    let (_, sent) = cluster.traced(second.attributes(id));
    assert_eq!(sent, []);
    cluster.cut_off(Some(CONTACT));
    cluster.run(wait(&cluster, Duration::from_secs(16)));
    let (_, sent) = cluster.traced(second.attributes(id));
    assert_eq!(requests_at(&sent, HOME), ["GetAttributes"]);
}

async fn wait(cluster: &Cluster, span: Duration) {
    cluster.client().context().sleep(span).await;
}

#[test]
fn without_its_contact_server_a_client_asks_the_homes() {
    let cluster = cluster();
    let client = client(&cluster);
    cluster.run(make_file(&client, ROOT, "a"));
    cluster.cut_off(Some(CONTACT));
    cluster.run(open(&client));
}

#[test]
fn a_silent_contact_server_is_asked_once() {
    let cluster = cluster();
    cluster.run(make_file(&cluster.client(), ROOT, "a"));
    cluster.silence(Some(CONTACT));
    let client = client(&cluster);
    let begun = cluster.now();
    cluster.run(open(&client));
    assert!(cluster.now().since(begun) < Duration::from_secs(2));
    let (_, sent) = cluster.traced(client.lookup(ROOT, &name("b")));
    assert_eq!(requests_at(&sent, CONTACT.0), [""; 0]);
}

#[test]
fn what_a_client_changes_itself_it_sees_changed() {
    let cluster = cluster();
    let (first, second) = (client(&cluster), client(&cluster));
    cluster.run(make_file(&cluster.client(), ROOT, "a"));
    cluster.run(open(&first));
    let id = cluster.run(open(&second));
    cluster.run(async {
        let written = second.write(id, 0, cluster::data(b"data"), false);
        let written = cluster.answering(&first, written);
        let second_answers = cluster.answering(&second, written);
        second_answers.await.unwrap();
        assert_eq!(second.attributes(id).await.unwrap().attributes.size, 4);
        assert_eq!(
            second
                .lookup(ROOT, &name("a"))
                .await
                .unwrap()
                .attributes
                .size,
            4
        );
    });
}
