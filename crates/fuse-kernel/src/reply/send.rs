//! The delivery of a reply to the device.

use super::Reply;
use crate::abi::OUT_HEADER_BYTES;
use crate::abi::output::OutHeader;
use crate::device::Device;
use std::io::{self, IoSlice};
use zerocopy::IntoBytes;

/// Largest errno that the kernel accepts in an answer.
const LARGEST_ERRNO: i32 = 511;

impl Reply {
    /// Sends a success. If the kernel finds it malformed (too large), EIO is sent instead, because
    /// an unanswered request would block its caller for ever.
    pub(super) fn send(mut self, parts: &[IoSlice<'_>]) {
        self.begin();
        if write(&self.device, self.unique, 0, parts).is_err_and(|error| is_malformed(&error)) {
            let _ = write(&self.device, self.unique, -libc::EIO, &[]);
        }
    }

    /// Sends a failure. An error of the device means that the caller is gone.
    pub(super) fn fail(&mut self, errno: i32) {
        let errno = if (1..=LARGEST_ERRNO).contains(&errno) {
            errno
        } else {
            libc::EIO
        };
        self.begin();
        let _ = write(&self.device, self.unique, -errno, &[]);
    }

    /// The request is no longer in flight from here on, so that a late interruption does not find
    /// it.
    fn begin(&mut self) {
        self.is_answered = true;
        self.device.finish(self.unique);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_answered {
            self.fail(libc::EIO);
        }
    }
}

fn is_malformed(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINVAL | libc::E2BIG | libc::EFAULT)
    )
}

/// Writes one reply or notification (`unique` 0, `error` its code).
pub(crate) fn write(
    device: &Device,
    unique: u64,
    error: i32,
    parts: &[IoSlice<'_>],
) -> io::Result<()> {
    let bytes = OUT_HEADER_BYTES + parts.iter().map(|part| part.len()).sum::<usize>();
    let len = u32::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?;
    let header = OutHeader { len, error, unique };
    match parts {
        [] => device.write(&[IoSlice::new(header.as_bytes())]),
        [one] => device.write(&[IoSlice::new(header.as_bytes()), *one]),
        many => {
            let mut all = Vec::with_capacity(many.len() + 1);
            all.push(IoSlice::new(header.as_bytes()));
            all.extend_from_slice(many);
            device.write(&all)
        }
    }
}
