//! The memory of one connection: a sealed, unnamed file that both ends map.
//!
//! ```text
//! control page | bytes     from the end that created it to the end that accepted it
//! control page | bytes     in the other direction
//! ```

use super::memory::{CONTROL_WORDS, Words};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create},
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap},
};
use std::{
    io,
    ops::{Deref, Range},
    ptr::{self, NonNull},
    slice,
    sync::{Arc, atomic::AtomicU64},
};

/// The most bytes in flight in one direction. A chunk of 1 MiB fits with the head of its message
/// and some small messages, so that its sender need not wait for room. Messages may be larger.
const DIRECTION_BYTES: usize = (1 << 20) + (64 << 10);
/// The words of one direction.
const DIRECTION_WORDS: usize = CONTROL_WORDS + DIRECTION_BYTES / size_of::<AtomicU64>();
/// The words of both directions.
const REGION_WORDS: usize = 2 * DIRECTION_WORDS;
/// The size of the file, in bytes.
const REGION_BYTES: usize = REGION_WORDS * size_of::<AtomicU64>();
/// The seals prevent the peer from truncating the file, which would kill this process with SIGBUS.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// The mapped file.
#[derive(Debug)]
struct Region(NonNull<AtomicU64>);

// SAFETY: it belongs to no thread. Any thread may unmap it, because no reference into it is left by
// then.
unsafe impl Send for Region {}

// SAFETY: a reference to it only yields references to atomics.
unsafe impl Sync for Region {}

/// The words of one direction. The file is unmapped with the last of them.
#[derive(Clone, Debug)]
pub struct Direction {
    region: Arc<Region>,
    words: Range<usize>,
}

/// Both directions, as one end of a connection uses them.
pub struct Directions {
    /// The direction from this end.
    pub outgoing: Words<Direction>,
    /// The direction to this end.
    pub incoming: Words<Direction>,
}

/// Creates the memory, and the file to hand over to the other end.
///
/// # Errors
/// The system is out of memory, descriptors or mappings.
pub fn create() -> io::Result<(OwnedFd, Directions)> {
    let file = memfd_create(
        "futago",
        MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::NOEXEC_SEAL,
    )?;
    ftruncate(&file, REGION_BYTES as u64)?;
    fcntl_add_seals(&file, SEALS)?;
    let [outgoing, incoming] = map(&file)?;
    Ok((file, Directions { outgoing, incoming }))
}

/// Maps the memory in a file that the other end has handed over.
///
/// # Errors
/// `InvalidData` if the file is not sealed or has the wrong size; the errors of mapping it.
pub fn accept(file: impl AsFd) -> io::Result<Directions> {
    let sealed = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SEALS));
    if !sealed {
        return Err(invalid("its size is not sealed"));
    }
    if fstat(&file)?.st_size != REGION_BYTES as i64 {
        return Err(invalid("its size is another"));
    }
    let [incoming, outgoing] = map(&file)?;
    Ok(Directions { outgoing, incoming })
}

fn invalid(why: &str) -> io::Error {
    let text = format!("the memory that the peer handed over cannot be used: {why}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Maps the file, whose size is verified. Returns the direction from its creator, and the other
/// one.
fn map(file: impl AsFd) -> io::Result<[Words<Direction>; 2]> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: a new mapping at an address that the kernel chooses affects no existing memory.
    let start = unsafe { mmap(ptr::null_mut(), REGION_BYTES, protection, flags, file, 0) }?;
    let start = NonNull::new(start.cast()).ok_or_else(|| invalid("it is mapped at 0"))?;
    let region = Arc::new(Region(start));
    // SAFETY: it is the whole of this mapping. A child of this process does not use it.
    unsafe { madvise(start.as_ptr().cast(), REGION_BYTES, Advice::LinuxDontFork) }?;
    let direction = |words| {
        let region = Arc::clone(&region);
        Words::new(Direction { region, words }).ok_or_else(|| invalid("it is no ring"))
    };
    Ok([
        direction(0..DIRECTION_WORDS)?,
        direction(DIRECTION_WORDS..REGION_WORDS)?,
    ])
}

impl Deref for Direction {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, REGION_WORDS long and lives as long as
        // `self.region`. The sealed file has all of its bytes. This process only accesses words as
        // atomics, or lines of them byte by byte, and every value is valid. So other processes
        // cannot cause undefined behaviour.
        let all = unsafe { slice::from_raw_parts(self.region.0.as_ptr(), REGION_WORDS) };
        &all[self.words.clone()]
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference into it is left, because all borrow
        // from a `Direction`, which retains this value.
        let unmapped = unsafe { munmap(self.0.as_ptr().cast(), REGION_BYTES) };
        debug_assert!(unmapped.is_ok(), "a mapping that exists can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::ring::{Reader, Writer};
    use std::fs::File;

    fn made_with(bytes: u64, seals: SealFlags) -> OwnedFd {
        let file = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&file, bytes).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file
    }

    #[test]
    fn what_one_end_writes_the_other_reads() {
        let (file, ours) = create().unwrap();
        let theirs = accept(&file).unwrap();
        let mut read = [0; 5];
        for (to, from) in [
            (ours.outgoing, theirs.incoming),
            (theirs.outgoing, ours.incoming),
        ] {
            assert_eq!(Writer::new(to).write([&b"hello"[..]]), Ok(5));
            assert_eq!(Reader::new(from).read(&mut read[..]), Ok(5));
            assert_eq!(&read, b"hello");
        }
    }

    #[test]
    fn its_size_stays_as_it_is() {
        let (file, _) = create().unwrap();
        for bytes in [0, 4096, 2 * REGION_BYTES as u64] {
            assert!(ftruncate(&file, bytes).is_err(), "{bytes}");
        }
        assert!(fcntl_add_seals(&file, SealFlags::WRITE).is_err());
    }

    #[test]
    fn files_that_could_shrink_or_are_of_another_size_are_refused() {
        let right = REGION_BYTES as u64;
        let refused = [
            made_with(right, SealFlags::empty()),
            made_with(right, SealFlags::SHRINK | SealFlags::GROW),
            made_with(right, SealFlags::SHRINK | SealFlags::SEAL),
            made_with(right - 4096, SEALS),
            made_with(right + 4096, SEALS),
            made_with(0, SEALS),
            made_with(right, SEALS | SealFlags::FUTURE_WRITE),
            File::open("/dev/zero").unwrap().into(),
            tempfile::tempfile().unwrap().into(),
        ];
        for (number, file) in refused.iter().enumerate() {
            assert!(accept(file).is_err(), "{number}");
        }
        assert!(accept(made_with(right, SEALS)).is_ok());
    }

    #[test]
    fn memory_comes_back_with_the_last_end() {
        let mapped = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().filter(|l| l.contains("memfd:futago")).count()
        };
        let (_, directions) = create().unwrap();
        let Directions { outgoing, incoming } = directions;
        assert!(mapped() > 0);
        drop(outgoing);
        assert!(mapped() > 0);
        drop(incoming);
        // Other tests of this process have mappings for a limited time.
        while mapped() > 0 {
            std::thread::yield_now();
        }
    }
}
