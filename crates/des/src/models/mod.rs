//! Example models, which are also what the engine is tested and measured with.

pub mod chord;
pub mod phold;
pub mod queueing;
