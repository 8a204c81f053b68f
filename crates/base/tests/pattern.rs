//! Patterns are the same however they are cut, and every wrong byte is found.

use futago_base::Pattern;
use proptest::prelude::*;

fn part(pattern: Pattern, offset: u64, length: usize) -> Vec<u8> {
    let mut data = vec![0; length];
    pattern.fill(offset, &mut data);
    data
}

proptest! {
    #[test]
    fn a_part_is_what_lies_there_in_the_whole(
        seed: u64,
        base in 0_u64..1 << 60,
        from in 0_usize..200,
        length in 0_usize..200,
    ) {
        let pattern = Pattern { seed };
        let whole = part(pattern, base, 400);
        let expected = &whole[from..from + length];
        prop_assert_eq!(part(pattern, base + from as u64, length), expected);
        let one_by_one: Vec<u8> = (from..from + length)
            .flat_map(|at| part(pattern, base + at as u64, 1))
            .collect();
        prop_assert_eq!(one_by_one, expected);
    }

    #[test]
    fn the_first_of_two_wrong_bytes_is_found(
        seed: u64,
        offset in 0_u64..1 << 60,
        length in 1_usize..200,
        at: prop::sample::Index,
        later: prop::sample::Index,
    ) {
        let pattern = Pattern { seed };
        let mut data = part(pattern, offset, length);
        prop_assert_eq!(pattern.first_difference(offset, &data), None);
        let at = at.index(length);
        let later = at + later.index(length - at);
        data[later] ^= 0x40;
        data[at] ^= 0x01;
        prop_assert_eq!(pattern.first_difference(offset, &data), Some(offset + at as u64));
    }
}
