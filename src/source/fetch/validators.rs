//! By what a server recognises the document that we have (RFC 9110 section 8.8).

use chrono::NaiveDateTime;

/// An entity tag is opaque to us; 256 octets are more than any server makes.
const MAX_ETAG_BYTES: usize = 256;
const IMF_FIXDATE: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// What a server gave with a document, to ask whether it has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// The `ETag` field: an entity tag of at most 256 octets.
    pub etag: Option<String>,
    /// The `Last-Modified` field: a date as RFC 9110 has servers write it.
    pub last_modified: Option<String>,
}

impl Validators {
    /// Whether each that is there has its syntax. They are sent back, so nothing else may be in them.
    #[must_use]
    pub fn are_valid(&self) -> bool {
        self.etag.as_deref().is_none_or(is_etag) && self.last_modified.as_deref().is_none_or(is_date)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    /// Those of an answer. One that is malformed or there twice is none: then the next fetch is of the whole document.
    pub(super) fn of(etags: &[&str], dates: &[&str]) -> Self {
        let only = |values: &[&str], valid: fn(&str) -> bool| match values {
            [value] if valid(value) => Some((*value).to_owned()),
            _ => None,
        };
        Self { etag: only(etags, is_etag), last_modified: only(dates, is_date) }
    }
}

/// RFC 9110 8.8.3, without the octets beyond ASCII that it keeps for old servers.
fn is_etag(text: &str) -> bool {
    let quoted = text.strip_prefix("W/").unwrap_or(text);
    let tag = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    text.len() <= MAX_ETAG_BYTES
        && tag.is_some_and(|tag| tag.bytes().all(|octet| matches!(octet, b'!' | b'#'..=b'~')))
}

/// The one form that servers may write (IMF-fixdate), of a day that exists.
fn is_date(text: &str) -> bool {
    NaiveDateTime::parse_from_str(text, IMF_FIXDATE)
        .is_ok_and(|date| date.format(IMF_FIXDATE).to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_tag_has_its_syntax_and_a_bound() {
        for tag in ["\"\"", "\"abc\"", "W/\"abc\"", "\"!#~\""] {
            assert!(is_etag(tag), "{tag}");
        }
        for tag in
            ["", "abc", "\"", "\"a", "a\"", "\"a\"b\"", "w/\"a\"", "\"a b\"", "\"a\r\nX: y\"", "\"ä\"", "*"]
        {
            assert!(!is_etag(tag), "{tag:?}");
        }
        let of = |length: usize| format!("\"{}\"", "a".repeat(length - 2));
        assert!(is_etag(&of(MAX_ETAG_BYTES)));
        assert!(!is_etag(&of(MAX_ETAG_BYTES + 1)));
    }

    #[test]
    fn a_date_is_written_as_servers_must() {
        assert!(is_date("Sun, 06 Nov 1994 08:49:37 GMT"));
        for date in [
            "",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Wed, 30 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT\r\nX: y",
            "1994-11-06T08:49:37Z",
        ] {
            assert!(!is_date(date), "{date:?}");
        }
    }

    #[test]
    fn a_validator_that_is_malformed_or_there_twice_is_none() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let both = Validators::of(&["\"a\""], &[date]);
        assert_eq!((both.etag.as_deref(), both.last_modified.as_deref()), (Some("\"a\""), Some(date)));
        assert!(both.are_valid() && !both.is_empty());
        assert!(Validators::of(&["\"a\"", "\"a\""], &[date, date]).is_empty());
        assert!(Validators::of(&["a"], &["yesterday"]).is_empty());
        assert!(!Validators { etag: Some("a".into()), last_modified: None }.are_valid());
        assert!(!Validators { etag: None, last_modified: Some("now".into()) }.are_valid());
    }
}
