//! What is run on a Futago file system and what is found out about it.
//!
//! Nothing in here touches a file system: [`workload`] says what clients are to do, [`statistics`]
//! sums up how it went, and [`check`] compares the records of all servers with each other. The real
//! cluster and the simulated one use the same code.

pub mod check;
pub mod document;
pub mod results;
pub mod statistics;
pub mod workload;
