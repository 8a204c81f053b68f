//! `memcmp` and `bcmp`.

use std::{
    arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8},
    cmp::Ordering,
    ffi::{c_int, c_void},
};

const VECTOR_BYTES: usize = size_of::<__m128i>();

/// C's `memcmp`.
///
/// # Safety
/// `length` bytes must be readable at both addresses.
#[cfg_attr(target_env = "musl", unsafe(no_mangle))]
unsafe extern "C" fn memcmp(left: *const c_void, right: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller vouches for the same.
    unsafe { compare(left.cast(), right.cast(), length) as c_int }
}

/// C's `bcmp`: 0 if the bytes are equal.
///
/// # Safety
/// `length` bytes must be readable at both addresses.
#[cfg_attr(target_env = "musl", unsafe(no_mangle))]
unsafe extern "C" fn bcmp(left: *const c_void, right: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller vouches for the same.
    unsafe { compare(left.cast(), right.cast(), length) as c_int }
}

#[inline(always)]
unsafe fn compare(left: *const u8, right: *const u8, length: usize) -> Ordering {
    // SAFETY: no type is longer than `length`, for which the caller vouches.
    unsafe {
        match length {
            0..4 => compare_bytes(left, right, length),
            4..8 => compare_ends(left, right, length, u32::from_be),
            8..16 => compare_ends(left, right, length, u64::from_be),
            _ => compare_vectors(left, right, length),
        }
    }
}

#[inline(always)]
unsafe fn compare_bytes(left: *const u8, right: *const u8, length: usize) -> Ordering {
    // SAFETY: the caller vouches for `length` bytes.
    (0..length)
        .map(|at| unsafe { left.add(at).read().cmp(&right.add(at).read()) })
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Compares the first and then the last bytes, which meet or overlap, as big-endian numbers.
#[inline(always)]
unsafe fn compare_ends<T: Ord>(
    left: *const u8,
    right: *const u8,
    length: usize,
    number: impl Fn(T) -> T,
) -> Ordering {
    // SAFETY: the caller vouches for `length` bytes.
    let read = |from: *const u8, at| number(unsafe { from.add(at).cast::<T>().read_unaligned() });
    let last = length - size_of::<T>();
    read(left, 0)
        .cmp(&read(right, 0))
        .then_with(|| read(left, last).cmp(&read(right, last)))
}

/// Compares vectors, of which the last two may overlap.
unsafe fn compare_vectors(left: *const u8, right: *const u8, length: usize) -> Ordering {
    let last = length - VECTOR_BYTES;
    let mut at = 0;
    loop {
        // SAFETY: `at` is at most `last`, and the caller vouches for `length` bytes.
        let equal = unsafe { equal_bytes(left.add(at), right.add(at)) };
        if equal < VECTOR_BYTES {
            at += equal;
            // SAFETY: the byte is one of the vector's.
            return unsafe { left.add(at).read().cmp(&right.add(at).read()) };
        }
        if at == last {
            return Ordering::Equal;
        }
        at = (at + VECTOR_BYTES).min(last);
    }
}

/// How many bytes of two vectors are equal before the first that is not.
#[inline(always)]
unsafe fn equal_bytes(left: *const u8, right: *const u8) -> usize {
    // SAFETY: every x86-64 processor has SSE2, and the caller vouches for the vectors.
    let equal = unsafe {
        _mm_movemask_epi8(_mm_cmpeq_epi8(
            _mm_loadu_si128(left.cast()),
            _mm_loadu_si128(right.cast()),
        ))
    };
    equal.trailing_ones() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(left: &[u8], right: &[u8]) -> Ordering {
        // SAFETY: both slices have the length.
        let sign = unsafe { memcmp(left.as_ptr().cast(), right.as_ptr().cast(), left.len()) };
        // SAFETY: as before.
        let differs = unsafe { bcmp(left.as_ptr().cast(), right.as_ptr().cast(), left.len()) };
        assert_eq!(sign == 0, differs == 0);
        sign.cmp(&0)
    }

    #[test]
    fn equal_bytes_of_every_length_are_equal_whatever_follows() {
        for length in 0..200 {
            let (left, right) = (vec![7; length + 1], [vec![7; length], vec![8]].concat());
            assert_eq!(order(&left[..length], &right[..length]), Ordering::Equal);
        }
    }

    #[test]
    fn the_first_byte_that_differs_decides_as_an_unsigned_number() {
        for length in 1..200 {
            for at in 0..length {
                let mut left = vec![127; length];
                let mut right = left.clone();
                right[at] = 128;
                left[at + 1..].fill(255);
                assert_eq!(
                    order(&left, &right),
                    Ordering::Less,
                    "byte {at} of {length}"
                );
                assert_eq!(
                    order(&right, &left),
                    Ordering::Greater,
                    "byte {at} of {length}"
                );
            }
        }
    }
}
