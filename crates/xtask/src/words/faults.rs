//! Faults of wording.

use std::fmt;

use super::sentences;
use super::source::Source;

/// The most columns of a comment line, as of code.
const COLUMNS_MAX: usize = 100;

/// Words that no sentence may begin with: the subject acts, and comes first.
const PRONOUNS: &[&str] = &["who", "what", "whoever", "whatever", "whom"];

/// Private words, in lower case, with the terms of the field that replace them.
const BANNED: &[(&str, &str)] = &[
    ("crew", "worker threads, thread pool"),
    ("kept", "cached"),
    ("lookout", "poll"),
    ("patience", "spin limit"),
    ("shrinking", "truncation"),
    ("shrinkings", "truncations"),
    ("somebody", "a client, a thread, another holder"),
    ("told", "notified, granted"),
    ("turn", "critical section, time slice, queue position"),
    ("turns", "critical sections, time slices"),
    ("unsent", "dirty data"),
    ("whoever", "the client, the thread"),
];

/// Identifiers with private words that belong to crates which are not done, or to other projects.
const BORROWED: &[&str] = &[];

/// One fault, with its line from 1.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// A comment line with too many columns.
    LongLine { line: usize, columns: usize },
    /// A sentence that begins with a relative pronoun.
    Pronoun { line: usize, word: String },
    /// A private word in a comment or in an identifier.
    Banned {
        line: usize,
        name: String,
        instead: &'static str,
    },
}

/// All faults of a file.
pub fn find(source: &Source) -> Vec<Fault> {
    let mut faults = long_lines(source);
    faults.extend(pronouns(source));
    for comment in &source.comments {
        faults.extend(banned(&comment.text, comment.line));
    }
    for identifier in &source.identifiers {
        faults.extend(banned(&identifier.name, identifier.line));
    }
    faults
}

fn long_lines(source: &Source) -> Vec<Fault> {
    let comments = source.comments.iter();
    let long = comments.filter(|comment| comment.columns > COLUMNS_MAX);
    long.map(|comment| Fault::LongLine {
        line: comment.line,
        columns: comment.columns,
    })
    .collect()
}

fn pronouns(source: &Source) -> impl Iterator<Item = Fault> {
    let sentences = sentences::split(&source.comments).into_iter();
    sentences.filter_map(|sentence| {
        let word = bare(sentence.words.first()?);
        PRONOUNS.contains(&&*word).then_some(Fault::Pronoun {
            line: sentence.line,
            word,
        })
    })
}

fn bare(word: &str) -> String {
    let word = word.split_once('\'').map_or(word, |(word, _)| word);
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.to_lowercase()
}

/// The banned words of a comment line or an identifier.
fn banned(text: &str, line: usize) -> Vec<Fault> {
    let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
    let names = text.split(is_separator);
    let foreign = names.filter(|name| !BORROWED.contains(name));
    let found = foreign.filter_map(|name| Some((name, instead_of(name)?)));
    found
        .map(|(name, instead)| Fault::Banned {
            line,
            name: name.to_owned(),
            instead,
        })
        .collect()
}

fn instead_of(name: &str) -> Option<&'static str> {
    let parts = parts(name);
    let is_part = |word: &str| parts.iter().any(|part| part == word);
    let hit = BANNED.iter().find(|(word, _)| is_part(word))?;
    Some(hit.1)
}

/// The words of a name, which underscores or capitals separate, in lower case.
fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for word in name.split('_') {
        let mut part = String::new();
        for c in word.chars() {
            if c.is_uppercase() && part.ends_with(char::is_lowercase) {
                parts.push(std::mem::take(&mut part).to_lowercase());
            }
            part.push(c);
        }
        parts.push(part.to_lowercase());
    }
    parts
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongLine { line, columns } => {
                write!(formatter, "{line}: a comment line of {columns} columns")
            }
            Self::Pronoun { line, word } => {
                write!(formatter, "{line}: a sentence begins with '{word}'")
            }
            Self::Banned {
                line,
                name,
                instead,
            } => write!(formatter, "{line}: '{name}', instead: {instead}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::parse;
    use super::find;

    fn faults(text: &str) -> Vec<String> {
        find(&parse(text)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn plain_words_pass() {
        let text = "/// The client polls, and what it finds is cached.\nfn return_lookup() {}";
        assert_eq!(faults(text), [""; 0]);
    }

    #[test]
    fn a_long_comment_line_is_a_fault_and_long_code_is_none() {
        let long = "a ".repeat(60);
        assert_eq!(
            faults(&format!("// {long}\nlet x = \"{long}\";")),
            ["1: a comment line of 123 columns"]
        );
    }

    #[test]
    fn a_sentence_that_begins_with_a_pronoun_is_a_fault() {
        let text = "// It is so. *Whoever*\n// asks waits. What's left,\n// who knows.";
        let found = faults(text);
        let begins = |fault: &&String| fault.contains("begins");
        let found: Vec<_> = found.iter().filter(begins).collect();
        let expected = [
            "1: a sentence begins with 'whoever'",
            "2: a sentence begins with 'what'",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn private_words_are_faults_in_comments_and_identifiers() {
        let text = "// Is told `kept_pages`.\nfn look() { TURN_MAX; ToldNodes; \"told\" }";
        let names = ["told", "kept_pages", "TURN_MAX", "ToldNodes"];
        let found = faults(text);
        assert_eq!(found.len(), names.len());
        for (fault, name) in found.iter().zip(names) {
            assert!(fault.contains(&format!("'{name}'")), "{fault}");
        }
    }
}
