//! The data that benchmarks write. It depends on its position, so that every byte can be verified.

use futago_base::Pattern;

/// The finishing function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(super) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The contents of file `index` of `client`.
pub const fn contents(client: u32, index: u64) -> Pattern {
    let seed = mix(mix(client as u64) ^ index);
    Pattern { seed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_has_other_contents() {
        let mut data = vec![0; 64];
        contents(0, 0).fill(0, &mut data);
        assert!(contents(0, 1).first_difference(0, &data).is_some());
        assert!(contents(1, 0).first_difference(0, &data).is_some());
    }
}
