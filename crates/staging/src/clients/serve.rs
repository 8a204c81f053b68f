//! The process that runs clients for a copy which another host leads.

use super::{
    Setup, frame,
    remote::{Reply, Request},
};
use crate::Perform;
use std::{
    io::{self, Read, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
};

/// Performs the tasks that arrive until the input ends. The end interrupts the tasks under way.
///
/// # Errors
/// The input is no setup, or the clients cannot be started.
pub fn serve(mut input: impl Read, output: impl Write + Send) -> io::Result<()> {
    let Some(setup) = frame::read::<Setup>(&mut input)? else {
        return Ok(());
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let clients = setup.clients(&interrupted)?;
    let (sender, receiver) = channel();
    let (receiver, output) = (Mutex::new(receiver), Mutex::new(output));
    thread::scope(|scope| {
        for client in &clients {
            let (receiver, output) = (&receiver, &output);
            scope.spawn(move || work(&**client, receiver, output));
        }
        let mut read = || frame::read::<Request>(&mut input);
        let ended = loop {
            match read() {
                // The workers take tasks until the channel is closed.
                Ok(Some(request)) => drop(sender.send(request)),
                ended => break ended.map(drop),
            }
        };
        interrupted.store(true, Ordering::Relaxed);
        drop(sender);
        ended
    })
}

fn work(client: &dyn Perform, tasks: &Mutex<Receiver<Request>>, output: &Mutex<impl Write>) {
    loop {
        let next = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, task)) = next else {
            return;
        };
        let reply: Reply = (number, client.perform(&task));
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        if frame::write(&mut *output, &reply).is_err() {
            return;
        }
    }
}
