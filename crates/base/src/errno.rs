//! Errors as users of a file system know them.

use core::fmt;
use serde::{Deserialize, Serialize};

macro_rules! errnos {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// A POSIX error number, as Linux counts them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[allow(clippy::upper_case_acronyms)]
        pub enum Errno {
            $(#[doc = $text] $name,)*
        }

        impl Errno {
            /// The number of the error on Linux.
            pub const fn number(self) -> i32 {
                match self { $(Self::$name => $number,)* }
            }

            /// The error with this number on Linux; `None` if the file system does not use it.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// The error's symbolic name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }

        impl fmt::Display for Errno {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)* })
            }
        }
    };
}

errnos! {
    EPERM = 1, "operation not permitted";
    ENOENT = 2, "no such file or directory";
    EINTR = 4, "interrupted";
    EIO = 5, "input/output error";
    ENXIO = 6, "no such address";
    EBADF = 9, "bad file handle";
    EAGAIN = 11, "try again";
    EACCES = 13, "permission denied";
    EBUSY = 16, "busy";
    EEXIST = 17, "file exists";
    ENOTDIR = 20, "not a directory";
    EISDIR = 21, "is a directory";
    EINVAL = 22, "invalid argument";
    EFBIG = 27, "file too large";
    ENOSPC = 28, "no space left";
    EMLINK = 31, "too many links";
    ERANGE = 34, "result too large";
    EDEADLK = 35, "deadlock avoided";
    ENAMETOOLONG = 36, "name too long";
    ENOLCK = 37, "no locks available";
    ENOSYS = 38, "not implemented";
    ENOTEMPTY = 39, "directory not empty";
    ELOOP = 40, "too many symbolic links";
    ENODATA = 61, "no such attribute";
    EPROTO = 71, "protocol error";
    EOPNOTSUPP = 95, "not supported";
    ETIMEDOUT = 110, "timed out";
    ESTALE = 116, "stale file handle";
    EREMOTEIO = 121, "the store behind the cluster cannot bring the data";
}

impl core::error::Error for Errno {}
