//! C's functions for bytes in memory, in place of those of musl.
//!
//! A static program has the functions of musl, which are made for size: `memcpy` is one
//! `rep movsq`, `memmove` goes backwards byte by byte with `std; rep movsb`, and `memcmp` looks at
//! one byte at a time. glibc's take a third to a twentieth of their time, and compilers call them
//! everywhere. The linker takes a program's own functions before those of a library.

mod compare;
mod copy;
