//! `memcpy` and `memmove`.

use std::{
    arch::{
        asm,
        x86_64::{__m128i, __m256i},
    },
    ffi::c_void,
    mem::MaybeUninit,
};

const LINE_BYTES: usize = 64;

/// C's `memcpy`.
///
/// # Safety
/// `length` bytes must be readable at `from` and writable at `into`.
#[cfg_attr(target_env = "musl", unsafe(no_mangle))]
unsafe extern "C" fn memcpy(into: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    // SAFETY: the caller vouches for the same.
    unsafe { copy(into.cast(), from.cast(), length) };
    into
}

/// C's `memmove`: as `memcpy`, but the bytes may overlap.
///
/// # Safety
/// `length` bytes must be readable at `from` and writable at `into`.
#[cfg_attr(target_env = "musl", unsafe(no_mangle))]
unsafe extern "C" fn memmove(into: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    // SAFETY: the caller vouches for the same.
    unsafe { copy(into.cast(), from.cast(), length) };
    into
}

#[inline(always)]
unsafe fn copy(into: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the caller vouches for `length` bytes.
    unsafe {
        if length <= LINE_BYTES {
            copy_short(into, from, length);
        } else {
            copy_long(into, from, length);
        }
    }
}

/// Copies at most one line.
#[inline(always)]
unsafe fn copy_short(into: *mut u8, from: *const u8, length: usize) {
    // SAFETY: no type is longer than `length`, for which the caller vouches.
    unsafe {
        match length {
            0 => {}
            1 => copy_ends::<u8>(into, from, length),
            2..4 => copy_ends::<u16>(into, from, length),
            4..8 => copy_ends::<u32>(into, from, length),
            8..16 => copy_ends::<u64>(into, from, length),
            16..32 => copy_ends::<__m128i>(into, from, length),
            _ => copy_ends::<__m256i>(into, from, length),
        }
    }
}

/// Copies the first and the last bytes, which meet or overlap. Both are read before one is written,
/// because `into` and `from` may overlap. Padding of what is copied has no value.
#[inline(always)]
unsafe fn copy_ends<T: Copy>(into: *mut u8, from: *const u8, length: usize) {
    let last = length - size_of::<T>();
    // SAFETY: the caller vouches for `length` bytes.
    unsafe {
        let start = from.cast::<MaybeUninit<T>>().read_unaligned();
        let end = from.add(last).cast::<MaybeUninit<T>>().read_unaligned();
        into.cast::<MaybeUninit<T>>().write_unaligned(start);
        into.add(last).cast::<MaybeUninit<T>>().write_unaligned(end);
    }
}

/// Copies lines upwards or downwards, so that no byte is overwritten before it is read, and then
/// the rest of a line.
unsafe fn copy_long(into: *mut u8, from: *const u8, length: usize) {
    let rest = length % LINE_BYTES;
    let whole = length - rest;
    let lines = whole / LINE_BYTES;
    let upwards = into.addr().wrapping_sub(from.addr()) >= length;
    // SAFETY: the lines and the rest are `length` bytes, for which the caller vouches.
    unsafe {
        if upwards {
            copy_lines(into, from, lines, LINE_BYTES.cast_signed());
            copy_short(into.add(whole), from.add(whole), rest);
        } else {
            let last = length - LINE_BYTES;
            copy_lines(
                into.add(last),
                from.add(last),
                lines,
                -LINE_BYTES.cast_signed(),
            );
            copy_short(into, from, rest);
        }
    }
}

/// Copies lines, each `step` bytes after the one before. It is assembly, because a compiler makes a
/// call of `memcpy` out of a loop that copies.
#[inline(always)]
unsafe fn copy_lines(into: *mut u8, from: *const u8, lines: usize, step: isize) {
    // SAFETY: it accesses only the lines that the caller vouches for and the named registers, and
    // no stack. There is at least one line.
    unsafe {
        asm!(
            "2:",
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + 32]",
            "movups {d}, [{from} + 48]",
            "movups [{into}], {a}",
            "movups [{into} + 16], {b}",
            "movups [{into} + 32], {c}",
            "movups [{into} + 48], {d}",
            "add {from}, {step}",
            "add {into}, {step}",
            "dec {lines}",
            "jnz 2b",
            from = inout(reg) from => _,
            into = inout(reg) into => _,
            lines = inout(reg) lines => _,
            step = in(reg) step,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: std::ops::Range<usize> = 0..300;

    fn numbered(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    /// Moves bytes within a buffer, and compares the whole buffer with what it should be.
    fn check_move(original: &[u8], from: usize, into: usize, length: usize) {
        let mut bytes = original.to_vec();
        let start = bytes.as_mut_ptr();
        // SAFETY: both are within the buffer.
        let returned = unsafe { memmove(start.add(into).cast(), start.add(from).cast(), length) };
        assert_eq!(returned, start.wrapping_add(into).cast());
        let mut expected = original.to_vec();
        expected[into..into + length].copy_from_slice(&original[from..from + length]);
        assert!(bytes == expected, "{length} bytes from {from} to {into}");
    }

    #[test]
    fn every_length_is_copied_and_no_byte_more() {
        let from = numbered(400);
        for length in LENGTHS {
            let mut bytes = vec![255; 400];
            // SAFETY: both have more bytes.
            unsafe {
                memcpy(
                    bytes[7..].as_mut_ptr().cast(),
                    from[3..].as_ptr().cast(),
                    length,
                )
            };
            assert_eq!(bytes[7..7 + length], from[3..3 + length]);
            assert!(
                bytes[..7]
                    .iter()
                    .chain(&bytes[7 + length..])
                    .all(|byte| *byte == 255)
            );
        }
    }

    #[test]
    fn bytes_that_overlap_are_moved_either_way() {
        let original = numbered(1000);
        for length in LENGTHS {
            for distance in (0..80).chain([127, 128, 129, 255, 299]) {
                check_move(&original, 300, 300 + distance, length);
                check_move(&original, 300 + distance, 300, length);
            }
        }
    }
}
