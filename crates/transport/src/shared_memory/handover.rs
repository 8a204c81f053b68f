//! The handover of a connection's shared memory, after the proof of the key.
//!
//! ```text
//! client -> server   one byte, with the file attached
//! server -> client   one byte: the memory is mapped
//! ```

use super::{MemoryStream, region};
use crate::stream::send;
use rustix::{
    cmsg_space,
    fd::{AsFd, OwnedFd},
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    },
};
use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
};
use tokio::{
    io::{AsyncReadExt, Interest},
    net::UnixStream,
};

/// The byte that accompanies the file, and the reply to it.
const TOKEN: [u8; 1] = *b"M";

impl MemoryStream {
    /// Creates shared memory and hands it over to the peer.
    ///
    /// # Errors
    /// There is no memory, or the peer does not accept it.
    pub async fn offer(mut socket: UnixStream) -> io::Result<Self> {
        let (file, directions) = region::create()?;
        let send = || send_file(&socket, &file);
        socket.writable().await?;
        socket.async_io(Interest::WRITABLE, send).await?;
        expect_token(&mut socket).await?;
        Self::new(directions, socket)
    }

    /// Accepts the shared memory that the peer hands over.
    ///
    /// # Errors
    /// The peer hands over something else.
    pub async fn accept(socket: UnixStream) -> io::Result<Self> {
        let receive = || receive_file(&socket);
        let file = socket.async_io(Interest::READABLE, receive).await?;
        let directions = region::accept(file)?;
        let answer = || send(&socket, &[IoSlice::new(&TOKEN)]);
        socket.async_io(Interest::WRITABLE, answer).await?;
        Self::new(directions, socket)
    }
}

async fn expect_token(socket: &mut UnixStream) -> io::Result<()> {
    let mut answer = [0; TOKEN.len()];
    socket.read_exact(&mut answer).await?;
    if answer == TOKEN {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

fn send_file(socket: &UnixStream, file: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    attached.push(SendAncillaryMessage::ScmRights(&files));
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(socket, &[IoSlice::new(&TOKEN)], &mut attached, flags)?;
    Ok(())
}

/// Receives one file. Further files do not fit into the buffer, and the system closes them.
fn receive_file(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut token = [0; TOKEN.len()];
    let into = &mut [IoSliceMut::new(&mut token)];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    recvmsg(socket, into, &mut attached, flags)?;
    let files = attached.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let missing = || io::Error::new(io::ErrorKind::InvalidData, "the peer handed over no file");
    files.last().filter(|_| token == TOKEN).ok_or_else(missing)
}
