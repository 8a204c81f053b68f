//! Sentences of comments.

use super::source::Comment;

/// One sentence.
#[derive(Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The words, punctuation included.
    pub words: Vec<String>,
}

/// The sentences of comments. A blank comment line, a list item, a heading and a line of code end
/// the one before; text between fences of three backticks is not prose.
pub fn split(comments: &[Comment]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut current = None;
    let mut is_fenced = false;
    let mut last_line = 0;
    for comment in comments {
        let text = comment.text.trim();
        let is_fence = text.starts_with("```");
        is_fenced ^= is_fence;
        let follows = comment.line == last_line + 1 && !comment.is_trailing;
        if !follows || is_fence || starts_paragraph(text) {
            sentences.extend(current.take());
        }
        last_line = comment.line;
        if !is_fence && !is_fenced {
            add_words(text, comment.line, &mut current, &mut sentences);
        }
    }
    sentences.extend(current);
    sentences
}

fn starts_paragraph(text: &str) -> bool {
    text.is_empty() || text.starts_with(['-', '*', '#', '|'])
}

fn add_words(
    text: &str,
    line: usize,
    current: &mut Option<Sentence>,
    sentences: &mut Vec<Sentence>,
) {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    for word in text.split_whitespace().filter(is_word) {
        let words = Vec::new();
        let sentence = current.get_or_insert(Sentence { line, words });
        sentence.words.push(word.to_owned());
        if ends_sentence(word) {
            sentences.extend(current.take());
        }
    }
}

fn ends_sentence(word: &str) -> bool {
    let bare = word.trim_matches(['"', '(', ')', '*', '`']);
    bare.ends_with(['.', '!', '?']) && !matches!(bare, "e.g." | "i.e.")
}

#[cfg(test)]
mod tests {
    use super::super::source::parse;
    use super::split;

    fn sentences(text: &str) -> Vec<(usize, String)> {
        let sentences = split(&parse(text).comments);
        let joined = sentences.iter().map(|s| (s.line, s.words.join(" ")));
        joined.collect()
    }

    #[test]
    fn a_sentence_may_span_lines() {
        let found = sentences("// One\n// two. Three (e.g. four)\nlet x; // Five");
        let expected = [(1, "One two."), (2, "Three (e.g. four)"), (3, "Five")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn paragraphs_and_items_end_sentences_and_code_has_none() {
        let found = sentences("/// A\n///\n/// - b\n/// - c\n/// ```\n/// Who.\n/// ```");
        let expected = [(1, "A"), (3, "b"), (4, "c")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
