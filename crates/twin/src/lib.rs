//! The simulated cluster: the real server and client cores over a virtual network, in virtual time,
//! with everything drawn from a seed, so that whatever happens happens again.
//!
//! [`cluster`] holds the parties and the network and knows no event loop; [`sequential`] is the
//! plain one. [`model`] is what a file system should do, [`check`] compares, [`fuzz`] draws
//! scenarios, runs them and makes failing ones small. [`machine`] reads what hosts and networks cost,
//! and [`world`] measures a cluster on such a machine.

pub mod check;
pub mod cluster;
pub mod fuzz;
pub mod machine;
pub mod model;
pub mod random;
pub mod scenario;
pub mod sequential;
pub mod world;
