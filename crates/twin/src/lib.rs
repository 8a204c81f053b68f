//! The simulated cluster: the real server and client cores over a virtual network, in virtual time,
//! with all randomness drawn from a seed, so that every run can be repeated.
//!
//! [`cluster`] holds the parties and the network, without an event loop; [`sequential`] is the
//! plain loop. [`model`] is the reference file system, [`check`] compares with it, [`fuzz`] draws
//! scenarios, runs them and reduces failing ones. [`machine`] reads the costs of hosts and
//! networks, and [`world`] measures a cluster on such a machine.

pub mod check;
pub mod cluster;
pub mod fuzz;
pub mod machine;
pub mod model;
pub mod random;
pub mod scenario;
pub mod sequential;
pub mod world;
