//! Moving many words of shared memory, as many at a time as a cache line has: the compiler does not join the accesses to
//! atomics, and one by one they take as many cycles as there are words, twice as long as the caches need.

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use x86_64::{copy_in, copy_out};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub use elsewhere::{copy_in, copy_out};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use super::super::memory::WORD_BYTES;
    use std::{arch::asm, mem::MaybeUninit, sync::atomic::AtomicU64};

    /// Words of one line.
    const LINE_WORDS: usize = 8;

    /// Puts whole lines into the first words, and returns how many words that were.
    pub fn copy_in(from: &[[u8; WORD_BYTES]], words: &[AtomicU64]) -> usize {
        let lines = from.len().min(words.len()) / LINE_WORDS;
        // SAFETY: both have so many lines. Words may be written through a shared reference, and bytes that somebody
        // reads through one of their own are no part of them.
        unsafe {
            copy(
                from.as_ptr().cast(),
                words.as_ptr().cast_mut().cast(),
                lines,
            )
        };
        lines * LINE_WORDS
    }

    /// Takes whole lines from the first words, and returns how many words that were.
    pub fn copy_out(words: &[AtomicU64], into: &mut [[MaybeUninit<u8>; WORD_BYTES]]) -> usize {
        let lines = into.len().min(words.len()) / LINE_WORDS;
        // SAFETY: both have so many lines, and nobody else has `into`, so that no word is part of it.
        unsafe { copy(words.as_ptr().cast(), into.as_mut_ptr().cast(), lines) };
        lines * LINE_WORDS
    }

    /// Copies lines. What another process changes meanwhile is copied as it was before or after, byte by byte: as far as
    /// this program is concerned these are relaxed accesses to each byte.
    ///
    /// # Safety
    /// So many lines can be read and written there, and they do not overlap.
    unsafe fn copy(from: *const u8, into: *mut u8, lines: usize) {
        if lines == 0 {
            return;
        }
        // SAFETY: it touches what the caller vouches for, the registers that are named, and no stack.
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

/// Where all is moved word by word.
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
