//! Mounting through the setuid helper fusermount3, which passes the device's descriptor back
//! over a socket.

use super::unmount::UnmountMode;
use super::{MountError, MountOptions};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Names of the helper, the current one first.
const PROGRAMS: [&str; 2] = ["fusermount3", "fusermount"];
/// The variable that names the socket's descriptor to the helper.
const SOCKET_VARIABLE: &str = "_FUSE_COMMFD";

/// Mounts and returns the device's descriptor.
pub(super) fn mount(options: &MountOptions, path: &Path) -> Result<OwnedFd, MountError> {
    let (ours, theirs) = UnixStream::pair().map_err(MountError::Socket)?;
    let mut child = start(options, path, theirs)?;
    match receive_descriptor(&ours) {
        Ok(fd) => {
            let _ = child.wait();
            Ok(fd)
        }
        Err(error) => {
            let said = last_words(child, &error);
            Err(MountError::Helper {
                path: path.to_owned(),
                said,
            })
        }
    }
}

/// The socket becomes the helper's standard input, because that needs no code between fork and
/// exec.
fn start(options: &MountOptions, path: &Path, socket: UnixStream) -> Result<Child, MountError> {
    let socket = OwnedFd::from(socket);
    for program in PROGRAMS {
        let started = Command::new(program)
            .arg("-o")
            .arg(options.for_helper())
            .arg("--")
            .arg(path)
            .env(SOCKET_VARIABLE, "0")
            .stdin(Stdio::from(socket.try_clone().map_err(MountError::Socket)?))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        match started {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            started => return started.map_err(MountError::Socket),
        }
    }
    Err(MountError::NoHelper)
}

fn last_words(child: Child, error: &io::Error) -> String {
    let output = child.wait_with_output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stderr).trim().to_owned());
    said.ok()
        .filter(|said| !said.is_empty())
        .unwrap_or_else(|| error.to_string())
}

/// Unmounts a mount of this user.
pub(super) fn unmount(path: &Path, mode: UnmountMode) -> io::Result<()> {
    for program in PROGRAMS {
        let mut command = Command::new(program);
        command
            .arg("-u")
            .args((mode == UnmountMode::Lazy).then_some("-z"))
            .arg("--")
            .arg(path);
        match command.stdin(Stdio::null()).output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => return Err(unmount_error(&output.stderr)),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "fusermount3 is not installed",
    ))
}

fn unmount_error(said: &[u8]) -> io::Error {
    let said = String::from_utf8_lossy(said).trim().to_owned();
    if said.contains("busy") {
        return io::Error::from_raw_os_error(libc::EBUSY);
    }
    io::Error::other(said)
}

/// Room for the control message with one descriptor, aligned as its header needs.
#[repr(C, align(8))]
struct ControlBuffer([u8; 64]);

fn receive_descriptor(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0u8];
    let mut control = ControlBuffer([0; 64]);
    let mut vector = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: byte.len(),
    };
    // SAFETY: all-zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // The C libraries disagree about the type of this length.
    message.msg_controllen = control.0.len() as _;
    let received = loop {
        // SAFETY: all buffers of the message outlive the call and have the given lengths.
        let received =
            unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        if received >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break received;
        }
    };
    match received {
        ..0 => Err(io::Error::last_os_error()),
        0 => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "fusermount3 sent no descriptor",
        )),
        _ => descriptor_in(&message),
    }
}

fn descriptor_in(message: &libc::msghdr) -> io::Result<OwnedFd> {
    // SAFETY: the kernel filled in the control buffer and its length. The macros stay within it,
    // and this process owns a descriptor that arrives.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        let is_descriptor = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS
            && (*header).cmsg_len >= libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        if !is_descriptor {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no descriptor came",
            ));
        }
        let fd = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_helper_that_sends_nothing_is_an_error() {
        let (ours, theirs) = UnixStream::pair().expect("pair");
        drop(theirs);
        let error = receive_descriptor(&ours).expect_err("nothing came");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn bytes_without_a_descriptor_are_an_error() {
        let (ours, mut theirs) = UnixStream::pair().expect("pair");
        theirs.write_all(b"x").expect("sent");
        let error = receive_descriptor(&ours).expect_err("no descriptor");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
