//! Comments and identifiers of a Rust file.

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// The words of one file.
#[derive(Default)]
pub struct Source {
    /// The lines of its comments, in order.
    pub comments: Vec<Comment>,
    /// Its identifiers, keywords included, in order.
    pub identifiers: Vec<Identifier>,
}

/// One line of a comment.
pub struct Comment {
    /// The line in the file, from 1.
    pub line: usize,
    /// The length of the whole line, in characters.
    pub columns: usize,
    /// The text without the comment's markers, as it was indented.
    pub text: String,
    /// Whether code precedes the comment on its line; such a comment is a paragraph by itself.
    pub is_trailing: bool,
}

/// One occurrence of an identifier.
pub struct Identifier {
    /// The line in the file, from 1.
    pub line: usize,
    /// The identifier.
    pub name: String,
}

/// Splits a file into comments and identifiers; string literals are in neither.
pub fn parse(text: &str) -> Source {
    let lines: Vec<&str> = text.lines().collect();
    let mut source = Source::default();
    let (mut offset, mut line) = (0, 1);
    for token in tokenize(text, FrontmatterAllowed::Yes) {
        let content = &text[offset..offset + token.len as usize];
        match token.kind {
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => {
                let starts_line = text[..offset].rsplit('\n').next().unwrap_or("");
                let is_trailing = !starts_line.trim().is_empty();
                source.add_comment(content, line, is_trailing, &lines);
            }
            TokenKind::Ident | TokenKind::RawIdent => source.identifiers.push(Identifier {
                line,
                name: content.trim_start_matches("r#").to_owned(),
            }),
            _ => {}
        }
        offset += content.len();
        line += content.matches('\n').count();
    }
    source
}

impl Source {
    fn add_comment(&mut self, content: &str, line: usize, is_trailing: bool, lines: &[&str]) {
        for (text, line) in content.lines().zip(line..) {
            self.comments.push(Comment {
                line,
                columns: lines[line - 1].chars().count(),
                text: without_markers(text).to_owned(),
                is_trailing,
            });
        }
    }
}

fn without_markers(line: &str) -> &str {
    let text = line.trim_start();
    let text = text.trim_start_matches(['/', '*', '!']);
    text.trim_end_matches("*/").trim_end()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn comments_and_identifiers_are_distinguished_from_strings() {
        let source = parse("//! One.\nlet a = \"// b\"; // two\n/* three\n four */ r#type");
        let comments = source.comments.iter();
        let comments: Vec<_> = comments
            .map(|comment| (comment.line, comment.text.trim(), comment.is_trailing))
            .collect();
        let expected = [(1, "One.", false), (2, "two", true), (3, "three", false)];
        assert_eq!(comments[..3], expected);
        assert_eq!(comments[3], (4, "four", false));
        let names: Vec<_> = source.identifiers.iter().map(|i| &*i.name).collect();
        assert_eq!(names, ["let", "a", "type"]);
    }

    #[test]
    fn columns_count_the_whole_line() {
        assert_eq!(parse("    x; // é").comments[0].columns, 11);
    }
}
