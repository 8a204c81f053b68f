//! Limits that both ends of a connection enforce.

/// The longest file name, in bytes.
pub const NAME_BYTES: usize = 255;
/// The longest path and the longest symbolic link, in bytes.
pub const PATH_BYTES: usize = 4096;
/// The largest file size, in bytes: the largest `off_t`.
pub const FILE_BYTES: u64 = i64::MAX as u64;
/// The longest value of an extended attribute, in bytes (as Linux's `XATTR_SIZE_MAX`).
pub const XATTR_BYTES: usize = 65_536;
/// The most bytes that the names of one file's extended attributes take together
/// (as Linux's `XATTR_LIST_MAX`).
pub const XATTR_LIST_BYTES: usize = 65_536;
/// The most bytes of data that one message carries.
pub const PAYLOAD_BYTES: usize = 4 << 20;
/// The most bytes of a message's body, without its data.
pub const BODY_BYTES: usize = 1 << 20;
/// The most hard links to one file.
pub const LINKS: u32 = 1 << 20;
/// The most servers of a cluster.
pub const SERVERS: usize = 4096;
/// The most partitions of a cluster.
pub const PARTITIONS: usize = 32_768;
/// The smallest chunk, in bytes.
pub const CHUNK_BYTES_MIN: u32 = 4096;
/// The largest chunk, in bytes: one chunk's data fits in one message.
pub const CHUNK_BYTES_MAX: u32 = PAYLOAD_BYTES as u32;
