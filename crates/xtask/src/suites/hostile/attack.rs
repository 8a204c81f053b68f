//! The attacks. Each may end a connection of its own, never a server.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use fastrand::Rng;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::socket::Address;
use super::{Target, proxy};

/// How long an attacker waits for a server to say or take something.
const REPLY_TIMEOUT: Duration = Duration::from_millis(200);
/// How long slow senders go on.
const SLOWLY: Duration = Duration::from_secs(10);
const ROUNDS: usize = 50;

/// Lets this process have as many open files as it may.
pub fn allow_many_files() -> anyhow::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).context("cannot raise the limit of open files")
}

/// Sends the bytes and listens for a moment. That the server ends the connection is right.
fn send(address: &Address, bytes: &[u8]) -> io::Result<usize> {
    let mut socket = address.connect(REPLY_TIMEOUT)?;
    if socket.write_all(bytes).is_err() {
        return Ok(0);
    }
    let mut answer = [0; 4096];
    Ok(socket.read(&mut answer).unwrap_or(0))
}

/// Sends many variations of what `vary` makes of a rightful client's bytes to every server.
fn vary(target: &Target, vary: impl Fn(&mut Rng, &mut Vec<u8>)) -> anyhow::Result<String> {
    let mut random = Rng::with_seed(target.seed);
    let mut connections = 0;
    for (address, recorded) in target.addresses.iter().zip(&target.recorded) {
        // A server that the listing did not need gets the bytes that were meant for another.
        let longest = target.recorded.iter().max_by_key(|bytes| bytes.len());
        let bytes = if recorded.is_empty() {
            longest.context("nothing recorded")?
        } else {
            recorded
        };
        for _ in 0..ROUNDS {
            let mut varied = bytes.clone();
            vary(&mut random, &mut varied);
            send(address, &varied).with_context(|| format!("cannot connect to {address:?}"))?;
            connections += 1;
        }
    }
    Ok(format!("{connections} connections"))
}

pub fn random(target: &Target) -> anyhow::Result<String> {
    vary(target, |random, bytes| {
        let length = random.usize(1..70_000);
        *bytes = (0..length).map(|_| random.u8(..)).collect();
    })
}

pub fn truncated(target: &Target) -> anyhow::Result<String> {
    vary(target, |random, bytes| {
        bytes.truncate(random.usize(..bytes.len().max(1)))
    })
}

pub fn damaged(target: &Target) -> anyhow::Result<String> {
    vary(target, |random, bytes| {
        for _ in 0..random.usize(1..8) {
            let place = random.usize(..bytes.len().max(1));
            bytes[place] ^= 1 << random.u8(..8);
        }
    })
}

/// Every length field that there may be becomes as large as it can, and much follows.
pub fn oversized(target: &Target) -> anyhow::Result<String> {
    vary(target, |random, bytes| {
        let place = random.usize(..64.min(bytes.len().max(1)));
        let end = (place + 4).min(bytes.len());
        bytes[place..end].fill(0xff);
        bytes.resize(bytes.len() + random.usize(..4 << 20), 0xff);
    })
}

pub fn replayed(target: &Target) -> anyhow::Result<String> {
    vary(target, |_, _| {})
}

/// The program itself with another key: it must fail, soon, and say why.
pub fn wrong_key(target: &Target) -> anyhow::Result<String> {
    let table: toml::Table = target.text.parse()?;
    let key = table
        .get("key")
        .and_then(toml::Value::as_str)
        .context("a cluster without a key")?;
    let other: String = key
        .chars()
        .map(|digit| if digit == '0' { '1' } else { '0' })
        .collect();
    let cluster = target.write_cluster("wrong-key.toml", &target.text.replace(key, &other))?;
    let started = Instant::now();
    let output = target.list_with(&cluster)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(!output.status.success(), "a wrong key was let in");
    ensure!(
        said.contains("key"),
        "the refusal does not name the key: {said}"
    );
    Ok(format!(
        "refused after {:.1} s: {}",
        started.elapsed().as_secs_f64(),
        said.lines().last().unwrap_or_default()
    ))
}

/// A proxy on the way changes bits of a proven connection, later and later. The listing may fail.
pub fn between(target: &Target) -> anyhow::Result<String> {
    let mut failed = 0;
    for round in 0..8 {
        let at = 1usize << (4 + round);
        let change = |_| -> proxy::Change {
            Arc::new(move |offset: usize, piece: &mut Vec<u8>| {
                if let Some(byte) = at
                    .checked_sub(offset)
                    .and_then(|place| piece.get_mut(place))
                {
                    *byte ^= 0x10;
                }
            })
        };
        let output = proxy::through(target, &format!("between-{round}"), change)?;
        failed += u32::from(!output.status.success());
    }
    Ok(format!(
        "8 listings with a changed bit, {failed} of them failed"
    ))
}

/// Many connections that send a byte now and then.
pub fn slow(target: &Target) -> anyhow::Result<String> {
    let deadline = Instant::now() + SLOWLY;
    let longest = target
        .recorded
        .iter()
        .max_by_key(|bytes| bytes.len())
        .context("nothing")?;
    let mut senders = Vec::new();
    for number in 0..200 {
        senders.push(target.addresses[number % target.addresses.len()].connect(REPLY_TIMEOUT)?);
    }
    let mut sent = 0;
    for byte in longest.iter().cycle() {
        senders.retain_mut(|socket| socket.write_all(&[*byte]).is_ok());
        sent += 1;
        thread::sleep(Duration::from_millis(100));
        if Instant::now() > deadline {
            break;
        }
    }
    Ok(format!(
        "200 connections with {sent} bytes in {SLOWLY:?}, {} still open",
        senders.len()
    ))
}

/// Very many connections that say nothing.
pub fn idle(target: &Target) -> anyhow::Result<String> {
    let mut open = Vec::new();
    let mut refused = 0;
    for number in 0..target.idle {
        match target.addresses[number % target.addresses.len()].connect(REPLY_TIMEOUT) {
            Ok(socket) => open.push(socket),
            Err(_) => refused += 1,
        }
    }
    // A connection after all these must be served.
    let output = target.list_with(&target.file)?;
    ensure!(
        output.status.success(),
        "beside {} idle connections: {}",
        open.len(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(format!(
        "{} connections open, {refused} refused, a new client is served",
        open.len()
    ))
}
