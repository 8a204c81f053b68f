//! Example models, which are also what the engine is tested and measured with.

pub mod phold;
