//! Example models, which also serve to test and measure the engine.

pub mod chord;
pub mod phold;
pub mod queueing;
