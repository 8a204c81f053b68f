//! Resources of a session end with it.

mod cluster;

use cluster::{Cluster, User, data, file, name};
use futago_base::{Errno, FileId};
use futago_client::{Context, CreateFlags};
use std::{pin::pin, task::Waker};

async fn make_file(client: &User) -> FileId {
    let name = name("f");
    let made = client.create(
        FileId::ROOT,
        &name,
        file(),
        CreateFlags::EXCLUSIVE_OPEN,
        data(b"first"),
    );
    made.await.expect("create").0.attributes.id
}

#[test]
fn an_open_file_is_not_used_when_its_session_has_ended() {
    let cluster = Cluster::new(2, futago_server::Config::default());
    let client = cluster.client();
    let id = cluster.run(make_file(&client));
    let session = client.context().session();
    let write = async |text| {
        let write = pin!(client.write(id, 0, data(text), false));
        client.in_session(session, write).await
    };
    assert_eq!(cluster.run(write(b"in time")), Ok(7));
    client.context().start_anew();
    let (late, sent) = cluster.traced(write(b"too late"));
    assert_eq!((late, sent.len()), (Err(Errno::ESTALE), 0));
    let data = cluster.run(client.read(id, 0, 100)).expect("read");
    assert_eq!(data.bytes(), b"in time"[..]);
}

#[test]
fn an_operation_of_an_ended_session_sends_nothing_more() {
    let cluster = Cluster::new(2, futago_server::Config::default());
    let client = cluster.client();
    let id = cluster.run(make_file(&client));
    let session = client.context().session();
    let write = pin!(async {
        client.attributes(id).await?;
        client.write(id, 0, data(b"late!"), false).await
    });
    let mut work = pin!(client.in_session(session, write));
    let mut task = std::task::Context::from_waker(Waker::noop());
    let ((), sent) = cluster.traced(async {
        assert!(work.as_mut().poll(&mut task).is_pending());
    });
    assert_eq!(sent, [(sent[0].0, "GetAttributes".to_owned())]);
    client.context().start_anew();
    let (late, sent) = cluster.traced(work);
    assert_eq!((late, sent.len()), (Err(Errno::ESTALE), 0));
}
