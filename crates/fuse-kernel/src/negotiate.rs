//! The negotiation of features (INIT).

use crate::abi::flags::InitFlags;
use crate::abi::input::{InHeader, InitIn, InitInExtension};
use crate::abi::output::InitOut;
use crate::abi::{self, IN_HEADER_BYTES, opcode};
use crate::device::Device;
use crate::reply::send::write;
use bytes::BytesMut;
use std::io::{self, IoSlice};
use thiserror::Error;
use zerocopy::{FromBytes, IntoBytes};

/// The kernel's reads need at least this much room: a header, the record of a write, and a page.
const REQUEST_HEAD_BYTES: usize = 4096;
const PAGE_BYTES: u32 = 4096;

/// The features that a file system wants. Missing ones are omitted and reported.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Features.
    pub features: InitFlags,
    /// Most bytes in one write and, through `MountOptions::max_read`, one read.
    pub max_write_bytes: u32,
    /// Most bytes that the kernel reads ahead of cached files.
    pub max_readahead_bytes: u32,
    /// The most asynchronous requests in flight (readahead, write-back, asynchronous direct I/O).
    pub max_background: u16,
}

impl Default for Wanted {
    /// Everything that a coherent POSIX file system uses, with requests of 1 MiB.
    fn default() -> Self {
        Self {
            features: InitFlags::ASYNC_READ
                | InitFlags::POSIX_LOCKS
                | InitFlags::FLOCK_LOCKS
                | InitFlags::ATOMIC_O_TRUNC
                | InitFlags::EXPORT_SUPPORT
                | InitFlags::AUTO_INVAL_DATA
                | InitFlags::BIG_WRITES
                | InitFlags::DO_READDIRPLUS
                | InitFlags::READDIRPLUS_AUTO
                | InitFlags::ASYNC_DIO
                | InitFlags::PARALLEL_DIROPS
                | InitFlags::ABORT_ERROR
                | InitFlags::MAX_PAGES
                | InitFlags::HANDLE_KILLPRIV_V2
                | InitFlags::SETXATTR_EXT
                | InitFlags::HAS_EXPIRE_ONLY
                | InitFlags::DIRECT_IO_ALLOW_MMAP,
            max_write_bytes: 1 << 20,
            max_readahead_bytes: 1 << 20,
            max_background: 64,
        }
    }
}

/// The result of the negotiation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Minor protocol number of the kernel (31 is Linux 5.10, 45 is 6.18).
    pub kernel_minor: u32,
    /// Features in force.
    pub features: InitFlags,
    /// Wanted features that this kernel lacks; `iter_names` names them for the log.
    pub missing: InitFlags,
    /// Most bytes in one write.
    pub max_write_bytes: u32,
}

impl Granted {
    /// The size of the largest request, in bytes.
    pub(crate) fn request_limit_bytes(&self) -> usize {
        REQUEST_HEAD_BYTES + self.max_write_bytes as usize
    }
}

/// The reason why the negotiation failed.
#[derive(Debug, Error)]
pub enum NegotiateError {
    /// The device failed.
    #[error("cannot exchange INIT with the kernel: {0}")]
    Device(#[from] io::Error),
    /// The first message was not INIT.
    #[error("the kernel's first message is not a sound INIT request")]
    NotInit,
    /// The kernel is too old.
    #[error(
        "the kernel speaks FUSE {major}.{minor}; 7.{} (Linux 5.10) or newer is needed",
        abi::OLDEST_MINOR_VERSION
    )]
    TooOld {
        /// The kernel's major number.
        major: u32,
        /// The kernel's minor number.
        minor: u32,
    },
}

struct Init {
    unique: u64,
    major: u32,
    minor: u32,
    max_readahead: u32,
    offered: InitFlags,
}

/// Reads INIT and replies to it. Blocks until the kernel sends it, which it does on mounting.
pub(crate) fn negotiate(device: &Device, wanted: &Wanted) -> Result<Granted, NegotiateError> {
    let init = loop {
        let init = read_init(device)?;
        if init.major == abi::KERNEL_VERSION {
            break init;
        }
        if init.major < abi::KERNEL_VERSION {
            refuse(device, init.unique);
            return Err(NegotiateError::TooOld {
                major: init.major,
                minor: init.minor,
            });
        }
        // A newer kernel receives our major number and restarts with it.
        let ours = InitOut {
            major: abi::KERNEL_VERSION,
            minor: abi::KERNEL_MINOR_VERSION,
            ..InitOut::default()
        };
        write(device, init.unique, 0, &[IoSlice::new(ours.as_bytes())])?;
    };
    if init.minor < abi::OLDEST_MINOR_VERSION {
        refuse(device, init.unique);
        return Err(NegotiateError::TooOld {
            major: init.major,
            minor: init.minor,
        });
    }
    let (granted, answer) = agree(&init, wanted);
    write(device, init.unique, 0, &[IoSlice::new(answer.as_bytes())])?;
    Ok(granted)
}

fn refuse(device: &Device, unique: u64) {
    let _ = write(device, unique, -libc::EPROTO, &[]);
}

fn read_init(device: &Device) -> Result<Init, NegotiateError> {
    let mut buffer = BytesMut::new();
    let message = loop {
        match device.read(&mut buffer, 64 << 10) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            message => break message?,
        }
    };
    parse_init(&message).ok_or(NegotiateError::NotInit)
}

fn parse_init(message: &[u8]) -> Option<Init> {
    let (header, body) = InHeader::read_from_prefix(message).ok()?;
    if header.opcode != opcode::INIT || header.len as usize != message.len() {
        return None;
    }
    debug_assert_eq!(body.len() + IN_HEADER_BYTES, message.len());
    let (record, rest) = InitIn::read_from_prefix(body).ok()?;
    let mut bits = u64::from(record.flags);
    if bits & InitFlags::INIT_EXT.bits() != 0 {
        let (extension, _) = InitInExtension::read_from_prefix(rest).ok()?;
        bits |= u64::from(extension.flags2) << 32;
    }
    Some(Init {
        unique: header.unique,
        major: record.major,
        minor: record.minor,
        max_readahead: record.max_readahead,
        offered: InitFlags::from_bits_retain(bits),
    })
}

/// Without MAX_PAGES a request carries 32 pages, whatever the other fields say.
fn agree(init: &Init, wanted: &Wanted) -> (Granted, InitOut) {
    let features = wanted.features & init.offered;
    let largest = if features.contains(InitFlags::MAX_PAGES) {
        256 << 20
    } else {
        32 * PAGE_BYTES
    };
    let max_write = wanted.max_write_bytes.clamp(PAGE_BYTES, largest);
    let bits = (features | (init.offered & InitFlags::INIT_EXT)).bits();
    let answer = InitOut {
        major: abi::KERNEL_VERSION,
        minor: abi::KERNEL_MINOR_VERSION.min(init.minor),
        max_readahead: wanted.max_readahead_bytes.min(init.max_readahead),
        flags: (bits & 0xffff_ffff) as u32,
        flags2: (bits >> 32) as u32,
        max_background: wanted.max_background,
        congestion_threshold: wanted.max_background / 4 * 3,
        max_write,
        time_gran: 1,
        max_pages: pages(max_write),
        ..InitOut::default()
    };
    let granted = Granted {
        kernel_minor: init.minor,
        features,
        missing: wanted.features - init.offered,
        max_write_bytes: max_write,
    };
    (granted, answer)
}

/// A buffer that does not begin on a page boundary spans one page more. The kernel caps the value
/// at `fs.fuse.max_pages_limit` (256 unless raised, from Linux 6.13 on).
fn pages(bytes: u32) -> u16 {
    u16::try_from(bytes.div_ceil(PAGE_BYTES) + 1).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Linux 5.10 (7.32) offers neither INIT_EXT nor anything beyond bit 27.
    fn old_kernel() -> Init {
        let offered = InitFlags::from_bits_retain((1 << 28) - 1);
        Init {
            unique: 2,
            major: 7,
            minor: 32,
            max_readahead: 128 << 10,
            offered,
        }
    }

    #[test]
    fn an_old_kernel_gets_what_it_knows_and_the_rest_is_named() {
        let (granted, answer) = agree(&old_kernel(), &Wanted::default());
        let missing: Vec<_> = granted.missing.iter_names().map(|(name, _)| name).collect();
        let expected = [
            "HANDLE_KILLPRIV_V2",
            "SETXATTR_EXT",
            "HAS_EXPIRE_ONLY",
            "DIRECT_IO_ALLOW_MMAP",
        ];
        assert_eq!(missing, expected);
        assert_eq!(
            (answer.minor, answer.flags2, answer.max_pages),
            (32, 0, 257)
        );
        assert_eq!(answer.flags & InitFlags::INIT_EXT.bits() as u32, 0);
        assert_eq!(answer.max_readahead, 128 << 10);
    }

    #[test]
    fn a_new_kernel_gets_the_upper_half_of_the_flags() {
        let init = Init {
            minor: 45,
            offered: InitFlags::all(),
            ..old_kernel()
        };
        let (granted, answer) = agree(&init, &Wanted::default());
        assert!(granted.missing.is_empty());
        assert_eq!(
            answer.flags2,
            (InitFlags::DIRECT_IO_ALLOW_MMAP.bits() >> 32) as u32 | 1 << 3
        );
        assert_ne!(answer.flags & InitFlags::INIT_EXT.bits() as u32, 0);
    }

    #[test]
    fn without_max_pages_requests_stay_at_128_kib() {
        let offered = old_kernel().offered - InitFlags::MAX_PAGES;
        let (granted, _) = agree(
            &Init {
                offered,
                ..old_kernel()
            },
            &Wanted::default(),
        );
        assert_eq!(granted.max_write_bytes, 128 << 10);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = parse_init(&bytes);
        }
    }
}
