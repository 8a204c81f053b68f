//! What is run on a Futago file system and what is found out about it.
//!
//! [`workload`] says what clients are to do, [`statistics`] sums up how it went, and [`check`]
//! compares the records of all servers with each other; none of them touches a file system, and the
//! real cluster and the simulated one use the same code. [`document`] reads files that people write,
//! [`results`] are what a [`study`] yields, and [`report`] shows them.

pub mod check;
pub mod document;
pub mod report;
pub mod results;
pub mod statistics;
pub mod study;
pub mod workload;
