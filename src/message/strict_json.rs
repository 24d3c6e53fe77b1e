//! The strict JSON reader: UTF-8, bounded in size, depth and count, no duplicate member names, no number that a
//! double cannot hold exactly. It never recurses, so no nesting can exhaust the stack.
//!
//! Two texts that mean the same in JSON become the same [`Value`]: `1`, `1.0` and `1e0` are one number here, as they
//! are in JCS (RFC 8785).

use super::digest::jcs;
use crate::limits::Limits;
use json_event_parser::{JsonEvent, SliceJsonParser};
use serde_json::{Map, Number, Value};

/// Why octets are not JSON that we read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonError {
    /// Over `message_bytes`.
    #[error("the text is too large")]
    TooLarge,
    /// Over another limit, named.
    #[error("more {0} than are read")]
    Limit(&'static str),
    /// Not strict JSON, in our words.
    #[error("{0}")]
    Malformed(&'static str),
}

const NESTING: JsonError = JsonError::Limit("levels of JSON nesting");
const VALUES: JsonError = JsonError::Limit("JSON members and items");

/// Reads one JSON value that fills the whole input (RFC 8259, and I-JSON's rules of RFC 7493 2).
///
/// # Errors
/// [`JsonError`]
pub(crate) fn read(octets: &[u8], limits: &Limits) -> Result<Value, JsonError> {
    if octets.len() > limits.message_bytes {
        return Err(JsonError::TooLarge);
    }
    let text = std::str::from_utf8(octets).map_err(|_| JsonError::Malformed("not UTF-8"))?;
    // The event parser skips a byte order mark silently.
    if text.starts_with('\u{feff}') {
        return Err(JsonError::Malformed("a byte order mark"));
    }
    let mut parser = SliceJsonParser::new(text.as_bytes());
    let mut builder = Builder::new(limits);
    loop {
        // The parser's own message quotes the sender, so it is dropped.
        match parser.parse_next().map_err(|_| JsonError::Malformed("not well-formed JSON"))? {
            JsonEvent::Eof => return builder.finish(),
            event => builder.take(event)?,
        }
    }
}

/// Checks the nesting of a value, without recursion, before a recursive consumer sees it.
///
/// # Errors
/// [`JsonError::Limit`]
pub(crate) fn check_depth(value: &Value, limits: &Limits) -> Result<(), JsonError> {
    let mut pending = vec![(value, 1)];
    while let Some((value, depth)) = pending.pop() {
        if !matches!(value, Value::Array(_) | Value::Object(_)) {
            continue;
        }
        if depth > limits.json_depth {
            return Err(NESTING);
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => pending.extend(members.values().map(|member| (member, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// The members and items of some values, and those values themselves: what `json_values` counts.
pub(crate) fn count<'v>(values: impl Iterator<Item = &'v Value>) -> usize {
    let mut pending: Vec<&Value> = values.collect();
    let mut count = 0usize;
    while let Some(value) = pending.pop() {
        count = count.saturating_add(1);
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => pending.extend(members.values()),
            _ => (),
        }
    }
    count
}

/// An array or object whose end has not been read yet.
enum Open {
    Array(Vec<Value>),
    Object { members: Map<String, Value>, name: Option<String> },
}

struct Builder<'limits> {
    limits: &'limits Limits,
    open: Vec<Open>,
    values: usize,
    root: Option<Value>,
}

impl<'limits> Builder<'limits> {
    fn new(limits: &'limits Limits) -> Self {
        Self { limits, open: Vec::new(), values: 0, root: None }
    }

    fn take(&mut self, event: JsonEvent<'_>) -> Result<(), JsonError> {
        match event {
            JsonEvent::StartArray => self.start(Open::Array(Vec::new())),
            JsonEvent::StartObject => self.start(Open::Object { members: Map::new(), name: None }),
            JsonEvent::EndArray => match self.open.pop() {
                Some(Open::Array(items)) => self.place(Value::Array(items)),
                _ => Err(JsonError::Malformed("an array ends that did not begin")),
            },
            JsonEvent::EndObject => match self.open.pop() {
                Some(Open::Object { members, name: None }) => self.place(Value::Object(members)),
                _ => Err(JsonError::Malformed("an object ends that did not begin")),
            },
            JsonEvent::ObjectKey(name) => self.name(name.into_owned()),
            JsonEvent::String(text) => self.leaf(Value::String(text.into_owned())),
            JsonEvent::Number(text) => self.leaf(Value::Number(exact_number(&text)?)),
            JsonEvent::Boolean(truth) => self.leaf(Value::Bool(truth)),
            JsonEvent::Null => self.leaf(Value::Null),
            JsonEvent::Eof => Err(JsonError::Malformed("an early end")),
        }
    }

    fn start(&mut self, container: Open) -> Result<(), JsonError> {
        self.count()?;
        if self.open.len() >= self.limits.json_depth {
            return Err(NESTING);
        }
        self.open.push(container);
        Ok(())
    }

    fn name(&mut self, name: String) -> Result<(), JsonError> {
        match self.open.last_mut() {
            // Names arrive unescaped, so `"a"` and `"\u0061"` are the same name here.
            Some(Open::Object { members, .. }) if members.contains_key(&name) => {
                Err(JsonError::Malformed("a duplicate member name"))
            }
            Some(Open::Object { name: place @ None, .. }) => {
                *place = Some(name);
                Ok(())
            }
            _ => Err(JsonError::Malformed("a member name outside an object")),
        }
    }

    fn leaf(&mut self, value: Value) -> Result<(), JsonError> {
        self.count()?;
        self.place(value)
    }

    /// Counts a member or item when it begins, so that a container is counted before its content is held.
    fn count(&mut self) -> Result<(), JsonError> {
        if !self.open.is_empty() {
            self.values += 1;
        }
        if self.values > self.limits.json_values { Err(VALUES) } else { Ok(()) }
    }

    fn place(&mut self, value: Value) -> Result<(), JsonError> {
        match self.open.last_mut() {
            Some(Open::Array(items)) => items.push(value),
            Some(Open::Object { members, name }) => {
                let name = name.take().ok_or(JsonError::Malformed("a member without a name"))?;
                members.insert(name, value);
            }
            None if self.root.is_none() => self.root = Some(value),
            None => return Err(JsonError::Malformed("more than one value")),
        }
        Ok(())
    }

    fn finish(self) -> Result<Value, JsonError> {
        match self.root {
            Some(value) if self.open.is_empty() => Ok(value),
            _ => Err(JsonError::Malformed("an early end")),
        }
    }
}

/// The integers that a double holds together with both their neighbours.
const SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A number whose text says no more than the double that JCS writes for it (RFC 8785 3.2.2.3).
fn exact_number(text: &str) -> Result<Number, JsonError> {
    const INEXACT: JsonError = JsonError::Malformed("a number that a double does not hold exactly");
    // Nearly all numbers are short integers, which need no decimal arithmetic.
    if text.len() <= 15
        && let Ok(integer) = text.parse::<i64>()
    {
        return Ok(Number::from(integer));
    }
    let double: f64 = text.parse().map_err(|_| JsonError::Malformed("not a number"))?;
    let number = Number::from_f64(double).ok_or(INEXACT)?;
    // Where two shortest texts are equally near, writers choose differently: a double that lies half way has both.
    let canonical = jcs(&number).ok().and_then(|text| String::from_utf8(text).ok()).ok_or(INEXACT)?;
    let value = Decimal::of(text);
    if value != Decimal::of(&canonical) && value != Decimal::of(&format!("{double:e}")) {
        return Err(INEXACT);
    }
    if double.fract() == 0.0 && double.abs() <= SAFE_INTEGER {
        // One form for one value; negative zero is zero, as in JCS.
        #[expect(clippy::cast_possible_truncation, reason = "integral and within 53 bits")]
        return Ok(Number::from(double as i64));
    }
    Ok(number)
}

/// A decimal text as a value: sign, significant digits, and the power of ten behind them.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// `None` for an exponent that no double can have.
    fn of(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (text, None),
        };
        let (negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Some(Self { negative: false, digits: String::new(), exponent: 0 });
        }
        let trailing_zeros = digits.len() - digits.trim_end_matches('0').len();
        let exponent = exponent.map_or(Some(0), |text| text.parse::<i64>().ok())?;
        let exponent = exponent
            .checked_sub(i64::try_from(fraction.len()).ok()?)?
            .checked_add(i64::try_from(trailing_zeros).ok()?)?;
        Some(Self { negative, digits: significant.to_owned(), exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn parse(text: &str) -> Result<Value, JsonError> {
        read(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn ordinary_json_is_read() {
        let text = r#" {"a":[1,-2.5,true,false,null,"é\n\ud83d\ude00"],"b":{},"c":[]} "#;
        assert_eq!(parse(text), Ok(json!({"a": [1, -2.5, true, false, null, "é\n😀"], "b": {}, "c": []})));
        assert_eq!(parse("\"text\""), Ok(json!("text")));
    }

    #[test]
    fn octets_that_are_not_utf8_are_refused() {
        assert!(read(b"\"\xff\"", &Limits::default()).is_err());
        assert!(read(b"\"\xed\xa0\x80\"", &Limits::default()).is_err());
        assert!(read(b"\xff\xfe{\0}\0", &Limits::default()).is_err());
    }

    #[test]
    fn a_byte_order_mark_is_refused() {
        assert_eq!(parse("\u{feff}{}"), Err(JsonError::Malformed("a byte order mark")));
    }

    #[test]
    fn duplicate_member_names_are_refused_after_unescaping() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"[{"x":{"b":[],"c":0,"b":[]}}]"#] {
            assert_eq!(parse(text), Err(JsonError::Malformed("a duplicate member name")), "{text}");
        }
    }

    #[test]
    fn lone_surrogates_are_refused() {
        for text in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\ud800""#,
            r#""\ud800x\udc00""#,
            r#""\udc00\ud800""#,
            r#"{"\ud800":1}"#,
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn texts_that_are_not_one_json_value_are_refused() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "{\"a\":1 \"b\":2}",
            "[1 2]",
            "]",
            "}",
            "{}{}",
            "{} x",
            "1 2",
            "nul",
            "NaN",
            "Infinity",
            "-",
            "+1",
            "01",
            "1.",
            ".5",
            "1e",
            "0x1",
            "'a'",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\t\"",
            "// c\n1",
            "{\"a\":1}\u{0}",
            "\u{a0}1",
            "[1,2}",
            "{\"a\":[}",
        ] {
            assert!(matches!(parse(text), Err(JsonError::Malformed(_))), "{text:?}");
        }
    }

    #[test]
    fn numbers_that_a_double_does_not_hold_exactly_are_refused() {
        for text in [
            "9007199254740993",
            "1e400",
            "-1e400",
            "0.10000000000000000001",
            "1e-400",
            "18446744073709551615",
            "9223372036854775807",
            "3.14159265358979323846",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "100000000000000000000000000000000000000000001",
            "0.1000000000000000055511151231257827",
        ] {
            assert!(parse(text).is_err(), "{text}");
            assert!(parse(&format!("[{text}]")).is_err(), "{text}");
        }
    }

    #[test]
    fn exact_numbers_are_read_and_written_by_jcs_alike() {
        for (text, canonical) in [
            ("0.1", "0.1"),
            ("1.0", "1"),
            ("1", "1"),
            ("1e2", "100"),
            ("1E+2", "100"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("0e9999999999999999999999", "0"),
            ("9007199254740992", "9007199254740992"),
            ("1e21", "1e+21"),
            ("100000000000000000000", "100000000000000000000"),
            ("0.000001", "0.000001"),
            ("1e-7", "1e-7"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("-2.50", "-2.5"),
            ("9007199254740991", "9007199254740991"),
            ("0.10", "0.1"),
            ("1200e-2", "12"),
            // Half way between two shortest texts.
            ("73839397596863.12", "73839397596863.12"),
            ("73839397596863.13", "73839397596863.12"),
        ] {
            let value = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(String::from_utf8(jcs(&value).unwrap()).unwrap(), canonical, "{text}");
        }
    }

    #[test]
    fn texts_of_one_number_become_one_value() {
        assert_eq!(parse("[1,1.0,1e0,10e-1]"), Ok(json!([1, 1, 1, 1])));
        assert_eq!(parse("-0"), Ok(json!(0)));
    }

    #[test]
    fn size_is_bounded_on_both_sides() {
        let limits = Limits { message_bytes: 4, ..Limits::default() };
        assert!(read(b"1234", &limits).is_ok());
        assert_eq!(read(b"12345", &limits), Err(JsonError::TooLarge));
    }

    #[test]
    fn depth_is_bounded_on_both_sides() {
        let limits = Limits { json_depth: 3, ..Limits::default() };
        assert!(read(b"[{\"a\":[1]}]", &limits).is_ok());
        assert_eq!(read(b"[{\"a\":[[]]}]", &limits), Err(NESTING));
    }

    #[test]
    fn members_and_items_are_counted_together() {
        let limits = Limits { json_values: 4, ..Limits::default() };
        assert!(read(b"{\"a\":[1,2],\"b\":{}}", &limits).is_ok());
        assert_eq!(read(b"{\"a\":[1,2],\"b\":{},\"c\":0}", &limits), Err(VALUES));
        assert_eq!(read(b"[[],[],[],[],[]]", &limits), Err(VALUES));
    }

    #[test]
    fn nesting_cannot_exhaust_the_stack() {
        let bomb = "[".repeat(1_000_000);
        assert_eq!(parse(&bomb), Err(NESTING));
        let bomb = "{\"a\":".repeat(200_000);
        assert_eq!(parse(&bomb), Err(NESTING));
    }

    #[test]
    fn long_number_texts_take_linear_time() {
        let long = format!("0.{}1", "0".repeat(900_000));
        assert!(parse(&long).is_err());
        let long = format!("1{}", "0".repeat(900_000));
        assert!(parse(&long).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let number = prop_oneof![
            (-1_000_000_000_000i64..1_000_000_000_000).prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", |double| Number::from_f64(double).map(Value::Number)),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            number,
            any::<String>().prop_map(Value::String)
        ];
        leaf.prop_recursive(6, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_jcs_writes_is_read_back_the_same(value in any_json()) {
            let canonical = jcs(&value).unwrap();
            let again = read(&canonical, &Limits::default()).unwrap();
            prop_assert_eq!(jcs(&again).unwrap(), canonical);
        }

        #[test]
        fn what_is_accepted_another_reader_accepts_alike(value in any_json(), at in any::<prop::sample::Index>(), octet in any::<u8>()) {
            let mut octets = serde_json::to_vec(&value).unwrap();
            let at = at.index(octets.len());
            octets[at] = octet;
            if let Ok(strict) = read(&octets, &Limits::default()) {
                let lenient: Value = serde_json::from_slice(&octets).unwrap();
                prop_assert_eq!(jcs(&strict).unwrap(), jcs(&lenient).unwrap());
            }
        }
    }

    #[test]
    fn a_parsed_value_is_walked_without_recursion() {
        let mut deep = json!(0);
        for _ in 0..200_000 {
            deep = Value::Array(vec![deep]);
        }
        assert_eq!(check_depth(&deep, &Limits::default()), Err(NESTING));
        // The value's own destructor recurses, which is the maker's affair; keep this test off its stack.
        std::mem::forget(deep);
    }
}
