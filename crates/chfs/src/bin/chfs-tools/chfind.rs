//! `chfind`: searches directories at the servers.

use crate::futago;
use chfs::settings;
use std::{
    ffi::{OsStr, OsString},
    process::ExitCode,
};

/// Runs `futago find` for each directory; by default for the root.
pub fn run(words: Vec<OsString>) -> Result<ExitCode, String> {
    let cluster = settings::cluster_file(None).ok_or("CHFS_SERVER names no cluster file")?;
    let (directories, expression) = split(words);
    for directory in directories {
        let mut command = futago::command(["find"]);
        command
            .arg(directory)
            .arg("--cluster")
            .arg(&cluster)
            .args(&expression);
        if !futago::run(command)?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The directories, and the expression behind them. The options for messages are dropped: a search
/// prints what it finds and nothing else.
fn split(words: Vec<OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let is_message_option = |word: &OsString| word == OsStr::new("-q") || word == OsStr::new("-v");
    let words = words
        .into_iter()
        .skip(1)
        .filter(|word| !is_message_option(word));
    let words: Vec<_> = words.collect();
    let begins = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let end = words.iter().position(begins).unwrap_or(words.len());
    let (directories, expression) = words.split_at(end);
    match directories {
        [] => (vec!["/".into()], expression.to_vec()),
        directories => (directories.to_vec(), expression.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn directories_come_before_the_expression() {
        let both = split(words("chfind -q a b -name *.c -v"));
        assert_eq!(both, (words("a b"), words("-name *.c")));
        assert_eq!(split(words("chfind")), (words("/"), words("")));
    }
}
