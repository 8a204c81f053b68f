//! Moves many words of shared memory, one cache line at a time.
//!
//! The compiler does not combine accesses to atomics. Single accesses take one cycle per word,
//! twice as long as the caches need.

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use x86_64::{copy_in, copy_out};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub use elsewhere::{copy_in, copy_out};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use super::super::memory::WORD_BYTES;
    use std::{arch::asm, mem::MaybeUninit, sync::atomic::AtomicU64};

    /// The words of one line.
    const LINE_WORDS: usize = 8;

    /// Copies whole lines into the first words, and returns the number of words.
    pub fn copy_in(from: &[[u8; WORD_BYTES]], words: &[AtomicU64]) -> usize {
        let lines = from.len().min(words.len()) / LINE_WORDS;
        // SAFETY: both have at least this many lines. Words may be written through a shared
        // reference, and bytes that are borrowed through an ordinary reference do not overlap them.
        unsafe {
            copy(
                from.as_ptr().cast(),
                words.as_ptr().cast_mut().cast(),
                lines,
            )
        };
        lines * LINE_WORDS
    }

    /// Copies whole lines from the first words, and returns the number of words.
    pub fn copy_out(words: &[AtomicU64], into: &mut [[MaybeUninit<u8>; WORD_BYTES]]) -> usize {
        let lines = into.len().min(words.len()) / LINE_WORDS;
        // SAFETY: both have at least this many lines, and `into` is borrowed exclusively, so that
        // it overlaps no word.
        unsafe { copy(words.as_ptr().cast(), into.as_mut_ptr().cast(), lines) };
        lines * LINE_WORDS
    }

    /// Copies lines. Bytes that another process changes meanwhile are copied as before or after the
    /// change. For this program these are relaxed accesses to each byte.
    ///
    /// # Safety
    /// This many lines must be readable and writable there, and must not overlap.
    unsafe fn copy(from: *const u8, into: *mut u8, lines: usize) {
        if lines == 0 {
            return;
        }
        // SAFETY: it accesses only memory that the caller vouches for and the named registers, and
        // no stack.
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
                "add {from}, 64",
                "add {into}, 64",
                "dec {lines}",
                "jnz 2b",
                from = inout(reg) from => _,
                into = inout(reg) into => _,
                lines = inout(reg) lines => _,
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack),
            );
        }
    }
}

/// Other targets copy word by word.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod elsewhere {
    use super::super::memory::WORD_BYTES;
    use std::{mem::MaybeUninit, sync::atomic::AtomicU64};

    pub const fn copy_in(_from: &[[u8; WORD_BYTES]], _words: &[AtomicU64]) -> usize {
        0
    }

    pub const fn copy_out(
        _words: &[AtomicU64],
        _into: &mut [[MaybeUninit<u8>; WORD_BYTES]],
    ) -> usize {
        0
    }
}
