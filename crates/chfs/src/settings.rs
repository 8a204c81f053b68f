//! The settings that a program makes by functions, and a user by environment variables.

use crate::path::ChfsPath;
use futago_base::limits;
use std::{
    env::{self, VarError},
    os::unix::ffi::OsStringExt,
    path::PathBuf,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

/// The settings of the process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The chunk size of new files; `None` for that of the cluster.
    pub chunk_bytes: Option<u32>,
    /// Whether small writes are buffered; otherwise the servers have the data of a write when it
    /// returns.
    pub is_buffered: bool,
    /// How long a silent server is waited for; `None` for the time of the cluster file.
    pub give_up: Option<Duration>,
    /// The directory that stands for the root: programs name files below a mount by it.
    pub root: ChfsPath,
    /// Whether CHFS is followed where it deviates from POSIX.
    pub is_compatible: bool,
}

/// So long that nobody waits for the end: `CHFS_RPC_TIMEOUT_MSEC=0` asks to wait for ever.
const FOREVER: Duration = Duration::from_secs(364 * 24 * 60 * 60);

static SETTINGS: RwLock<Option<Settings>> = RwLock::new(None);

/// The settings as they are now.
pub fn current() -> Settings {
    let settings: RwLockReadGuard<'_, _> = SETTINGS.read().unwrap_or_else(PoisonError::into_inner);
    settings.clone().unwrap_or_default()
}

/// Changes the settings.
pub fn change(change: impl FnOnce(&mut Settings)) {
    let mut settings: RwLockWriteGuard<'_, _> =
        SETTINGS.write().unwrap_or_else(PoisonError::into_inner);
    change(settings.get_or_insert_default());
}

/// The file of the cluster: the argument of `chfs_init`, or `CHFS_SERVER`, or `FUTAGO_CLUSTER`.
pub fn cluster_file(argument: Option<&[u8]>) -> Option<PathBuf> {
    let named = argument.map(|argument| std::ffi::OsString::from_vec(argument.to_vec()));
    let variables = ["CHFS_SERVER", "FUTAGO_CLUSTER"].into_iter();
    let file = named.into_iter().chain(variables.filter_map(env::var_os));
    file.map(PathBuf::from)
        .find(|file| !file.as_os_str().is_empty())
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            chunk_bytes: None,
            is_buffered: false,
            give_up: None,
            root: ChfsPath::root(),
            is_compatible: false,
        }
    }
}

impl Settings {
    /// Follows the environment variables that are set. An empty one counts as not set.
    pub fn read_environment(&mut self) {
        if let Some(bytes) = number("CHFS_CHUNK_SIZE") {
            self.set_chunk_bytes(bytes);
        }
        if let Some(bytes) = number("CHFS_BUF_SIZE") {
            self.is_buffered = bytes > 0;
        }
        if let Some(milliseconds) = number("CHFS_RPC_TIMEOUT_MSEC") {
            self.set_give_up(milliseconds);
        }
        if let Some(root) = env::var_os("CHFS_SUBDIR_PATH")
            && let Ok(root) = ChfsPath::new(&root.into_vec(), &ChfsPath::root())
        {
            self.root = root;
        }
        self.is_compatible = number("CHFS_COMPAT").is_some_and(|value| value != 0);
    }

    /// Sizes that Futago does not have become the nearest one that it has; CHFS ignores sizes that
    /// are not positive.
    pub fn set_chunk_bytes(&mut self, bytes: i64) {
        if bytes > 0 {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            self.chunk_bytes = Some(bytes.clamp(limits::CHUNK_BYTES_MIN, limits::CHUNK_BYTES_MAX));
        }
    }

    /// Sets how long a silent server is waited for.
    pub fn set_give_up(&mut self, milliseconds: i64) {
        self.give_up = Some(match u64::try_from(milliseconds) {
            Ok(1..) => Duration::from_millis(milliseconds as u64).min(FOREVER),
            _ => FOREVER,
        });
    }
}

/// The number at the beginning of a variable, as `atol` reads it.
fn number(variable: &str) -> Option<i64> {
    let text = match env::var(variable) {
        Ok(text) => text,
        Err(VarError::NotPresent | VarError::NotUnicode(_)) => return None,
    };
    let text = text.trim_start();
    let digits_end = text
        .char_indices()
        .find(|(at, letter)| !(letter.is_ascii_digit() || *at == 0 && *letter == '-'));
    let digits = digits_end.map_or(text, |(end, _)| &text[..end]);
    (!text.is_empty()).then(|| digits.parse().unwrap_or(0))
}
