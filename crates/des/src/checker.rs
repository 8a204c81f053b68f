//! stub
/// stub
pub fn check() {}
