//! The simulated world: what it predicts, and that it does not matter who runs it.

mod checkers;
mod cooperative;
mod data;
mod executors;
mod finding;
mod looking;
mod open;
mod predictions;
mod scale;
mod setup;
mod setups;
mod small_files;
mod trace;
mod transactions;
