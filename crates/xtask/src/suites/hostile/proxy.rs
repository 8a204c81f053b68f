//! Stands between a rightful client and the servers: listens to what is said, or changes it.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::ensure;

use super::Target;
use super::socket::{Listener, Socket};

/// A change of each piece from the client, with the offset at which the piece begins.
pub type Change = Arc<dyn Fn(usize, &mut Vec<u8>) + Send + Sync>;

/// The silence after which a connection counts as ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// Lets the program list the root directory, and returns what it sent to each server.
pub fn record(target: &Target) -> anyhow::Result<Vec<Vec<u8>>> {
    let heard: Vec<_> = target
        .addresses
        .iter()
        .map(|_| Arc::<Mutex<Vec<u8>>>::default())
        .collect();
    let listen = |server: usize| -> Change {
        let heard = Arc::clone(&heard[server]);
        Arc::new(move |_, piece| {
            heard
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend_from_slice(piece);
        })
    };
    let output = through(target, "record", listen)?;
    ensure!(
        output.status.success(),
        "futago ls failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(heard
        .iter()
        .map(|bytes| bytes.lock().unwrap_or_else(PoisonError::into_inner).clone())
        .collect())
}

/// Runs `futago ls` with a proxy before each server.
pub fn through(
    target: &Target,
    name: &str,
    change: impl Fn(usize) -> Change,
) -> anyhow::Result<std::process::Output> {
    let mut text = target.text.clone();
    for (server, address) in target.addresses.iter().enumerate() {
        let socket = format!("{name}-{server}");
        let (listener, own) = address.listen_beside(target.place.path(), &socket)?;
        text = text.replace(&format!("\"{}\"", address.text()), &format!("\"{own}\""));
        let (address, change) = (address.clone(), change(server));
        // It ends with this process; nobody connects to it any more after the listing.
        thread::spawn(move || serve(&listener, &address, &change));
    }
    ensure!(
        text != target.text,
        "no address of the cluster file could be replaced"
    );
    let cluster = target.write_cluster(&format!("{name}.toml"), &text)?;
    target.list_with(&cluster)
}

fn serve(listener: &Listener, address: &super::socket::Address, change: &Change) {
    while let Ok(client) = listener.accept() {
        let Ok(server) = address.connect(IDLE_TIMEOUT) else {
            return;
        };
        let (Ok(back_from), Ok(back_to)) = (server.again(), client.again()) else {
            return;
        };
        let change = Arc::clone(change);
        thread::spawn(move || pass(client, server, &*change));
        thread::spawn(move || pass(back_from, back_to, &|_, _| {}));
    }
}

/// Passes on what one side says until it ends; then ends the other.
fn pass(mut from: Socket, mut to: Socket, change: &dyn Fn(usize, &mut Vec<u8>)) {
    let mut buffer = vec![0; 1 << 16];
    let mut offset = 0;
    let _ = from.set_timeout(IDLE_TIMEOUT);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut piece = buffer[..count].to_vec();
        change(offset, &mut piece);
        offset += count;
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    from.shut_down();
    to.shut_down();
}
