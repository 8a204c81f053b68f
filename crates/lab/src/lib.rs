//! Workloads for a Futago file system, and the evaluation of their runs.
//!
//! [`workload`] defines the operations of clients, [`statistics`] summarizes their results, and
//! [`check`] compares the records of all servers. None of them uses a file system, so the real
//! cluster and the simulated one use the same code. [`document`] reads files that people write.
//! [`io500`] is the benchmark of that name. [`results`] are the results of a [`study`], and
//! [`report`] shows them.

pub mod check;
pub mod document;
pub mod io500;
pub mod report;
pub mod results;
pub mod statistics;
pub mod study;
pub mod workload;
