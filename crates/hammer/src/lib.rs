//! The hammer: mounts and library clients that work on the same few files and directories at once.
//!
//! In each [`round`] several [`actor`]s perform operations that are drawn from a seed. Some make
//! system calls on [`mount`]s, others are clients of the [`library`]. All their observations form
//! one history, which the checker of the simulated cluster must be able to explain by its
//! reference. Between rounds the [`cluster`] is emptied and must not have [grown](growth). A
//! [`watchdog`] ends the program if an operation hangs.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's program may end with its reader"
)]

pub mod actor;
pub mod cluster;
pub mod growth;
pub mod journal;
pub mod library;
pub mod mount;
pub mod round;
pub mod watchdog;
