//! The simulated world: what it predicts, and that it does not matter who runs it.

mod executors;
mod predictions;
mod setups;
