//! The one way in which text gets into the page.
//!
//! [`Html`] takes markup only as a constant of this program; everything else passes an escape on its way in. So no text of a
//! sender, of a paper or of a document's author can become an element, an attribute, a link or a style.

use crate::audit::escape::{code_point, is_unsafe};
use crate::message::Digest;

/// Characters of one value that are shown. A report cuts most of its texts well before.
const VALUE_CHARS: usize = 1_000;

/// Markup under construction.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of our own.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A number, which has no character that means anything.
    pub(super) fn number(&mut self, number: impl Into<i128>) -> &mut Self {
        self.0.push_str(&number.into().to_string());
        self
    }

    /// Text as it is to be read: what could move, hide or reorder what stands beside it is a marked escape.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            if is_unsafe(character) {
                self.0.push_str("<span class=\"x\">");
                self.code_point(character);
                self.0.push_str("</span>");
            } else {
                self.character(character);
            }
        }
        self
    }

    /// [`text`](Self::text) where no element can stand: in an attribute between double quotes, or a title.
    pub(super) fn plain(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            if is_unsafe(character) {
                self.code_point(character);
            } else {
                self.character(character);
            }
        }
        self
    }

    /// A text of somebody else, cut to what a page bears, in a direction of its own.
    pub(super) fn value(&mut self, text: &str) -> &mut Self {
        self.raw("<bdi>");
        match text.char_indices().nth(VALUE_CHARS) {
            _ if text.is_empty() => self.raw("<i>(empty)</i>"),
            None => self.text(text),
            Some((end, _)) => self
                .text(text.get(..end).unwrap_or_default())
                .raw("<i> … cut: ")
                .number(text.chars().count() as u64)
                .raw(" characters in all</i>"),
        };
        self.raw("</bdi>")
    }

    /// A digest, whole, to be copied.
    pub(super) fn digest(&mut self, digest: &Digest) -> &mut Self {
        self.raw("<code>").text(&digest.to_string()).raw("</code>")
    }

    /// Takes what another one holds.
    pub(super) fn append(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn character(&mut self, character: char) {
        match character {
            '&' => self.0.push_str("&amp;"),
            '<' => self.0.push_str("&lt;"),
            '>' => self.0.push_str("&gt;"),
            '"' => self.0.push_str("&quot;"),
            '\'' => self.0.push_str("&#39;"),
            _ => self.0.push(character),
        }
    }

    fn code_point(&mut self, character: char) {
        self.0.push_str(&code_point(character));
    }
}

/// A text in printable ASCII, for the picture: each column is one character, and a letter that looks like another is not
/// taken for it.
pub(super) fn ascii(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, character| {
        match character {
            ' '..='~' => out.push(character),
            _ => out.push_str(&code_point(character)),
        }
        out
    })
}

/// A text of at most `columns` characters: what is too long loses its middle, since both ends of an IRI tell something.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let length = text.chars().count();
    if length <= columns {
        return text.to_owned();
    }
    let kept = columns.saturating_sub(3);
    let (head, tail) = (kept - kept / 2, kept / 2);
    let mut short: String = text.chars().take(head).collect();
    short.push_str("...");
    short.extend(text.chars().skip(length - tail));
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_others_is_text() {
        let mut html = Html::default();
        html.text("<b a='1' c=\"2\">&</b>");
        assert_eq!(html.as_str(), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;&lt;/b&gt;");
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        for character in
            ['\0', '\n', '\u{1b}', '\u{85}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0041}']
        {
            let (mut html, mut plain) = (Html::default(), Html::default());
            html.text(&character.to_string());
            plain.plain(&character.to_string());
            let escape = format!("\\u{{{:x}}}", u32::from(character));
            assert_eq!(html.as_str(), format!("<span class=\"x\">{escape}</span>"));
            assert_eq!(plain.as_str(), escape);
            assert_eq!(ascii(&character.to_string()), escape);
        }
    }

    #[test]
    fn a_long_value_is_cut_and_says_so() {
        let mut html = Html::default();
        html.value(&"é".repeat(VALUE_CHARS + 1));
        assert_eq!(html.as_str().matches('é').count(), VALUE_CHARS);
        assert!(html.as_str().contains("1001 characters in all"));
    }

    #[test]
    fn a_cut_keeps_both_ends() {
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10), "abcd...ijk");
        assert_eq!(cut("abcdefghijk", 2).len(), 3);
    }

    #[test]
    fn a_letter_that_looks_like_another_is_not_taken_for_it_in_the_picture() {
        assert_eq!(ascii("https://\u{430}lice.example/"), "https://\\u{430}lice.example/");
    }
}
