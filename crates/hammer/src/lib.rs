//! The hammer: mounts and library clients that work on the same few files and directories at once.
//!
//! In each [`round`] several [`actor`]s, some of which make system calls on [`mount`]s and some of which are
//! clients of the [`library`], do what is drawn from a seed. What all of them saw is one history, which the checker
//! of the simulated cluster must be able to explain by its reference. Between rounds the [`cluster`] is emptied
//! and must not have [grown](growth). A [`watchdog`] ends what does not end.
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
