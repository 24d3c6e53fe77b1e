//! Values of constraints, and their comparison without floats and without guessing (`mandate.md` 7).
//!
//! What does not parse is not compared: there is never an order of texts.

use crate::request::Instant;
use crate::vocab::rdf;
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use oxrdf::{NamedNode, Term, TermRef};
use std::cmp::Ordering;
use std::fmt;

/// The most digits that a number may have, and the largest exponent either way.
const NUMBER_BOUND: usize = 32;

/// An RDF term as an operand. Blank nodes have no identity outside their document, so they are not values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Iri(String),
    Literal { text: String, datatype: String, language: Option<String> },
    Unreadable,
}

/// The types that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Iri,
    Boolean,
    Integer,
    Decimal,
    Instant,
    Duration,
    Text,
}

/// A value that parsed as its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    Iri(String),
    Boolean(bool),
    Number(Number),
    Instant(Instant),
    Duration(Duration),
    Text(String, Option<String>),
}

/// An exact decimal: 0.d1d2d3... times ten to the `point`; no digits is zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    /// Without zeros at either end.
    digits: Vec<u8>,
    point: i64,
}

/// An XSD duration: months and nanoseconds, which no calendar-free rule relates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Duration {
    months: i128,
    nanoseconds: i128,
}

impl Value {
    pub(crate) fn of_term(term: &Term) -> Self {
        Self::of(term.as_ref())
    }

    pub(super) fn of(term: TermRef<'_>) -> Self {
        match term {
            TermRef::NamedNode(node) => Self::Iri(node.as_str().to_owned()),
            TermRef::Literal(literal) if literal.language().is_some() || literal.direction().is_none() => {
                Self::Literal {
                    text: literal.value().to_owned(),
                    datatype: literal.datatype().as_str().to_owned(),
                    language: literal.language().map(str::to_ascii_lowercase),
                }
            }
            _ => Self::Unreadable,
        }
    }

    pub(super) fn instant(instant: Instant) -> Self {
        Self::typed(&instant.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true), rdf::XSD_DATE_TIME)
    }

    pub(super) fn integer(number: u64) -> Self {
        Self::typed(&number.to_string(), rdf::XSD_INTEGER)
    }

    fn typed(text: &str, datatype: &str) -> Self {
        Self::Literal { text: text.to_owned(), datatype: datatype.to_owned(), language: None }
    }

    /// Whether the value is a well-formed whole number of an XSD integer type.
    pub(super) fn is_integer(&self) -> bool {
        self.kind() == Some(Kind::Integer) && self.read(Kind::Integer).is_some()
    }

    /// The type that a right operand sets; `None` where it is none that can be compared.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Iri(_) => Some(Kind::Iri),
            Self::Literal { language: Some(_), .. } => Some(Kind::Text),
            Self::Literal { datatype, .. } => match datatype.strip_prefix(rdf::XSD_NS)? {
                "string" => Some(Kind::Text),
                "boolean" => Some(Kind::Boolean),
                "decimal" | "double" | "float" => Some(Kind::Decimal),
                "dateTime" | "dateTimeStamp" => Some(Kind::Instant),
                "duration" | "dayTimeDuration" | "yearMonthDuration" => Some(Kind::Duration),
                name if integer_range(name).is_some() => Some(Kind::Integer),
                _ => None,
            },
            Self::Unreadable => None,
        }
    }

    /// The value as the type `kind`. A plain string is read as that type too: it has none of its own to contradict.
    pub(super) fn read(&self, kind: Kind) -> Option<Typed> {
        let Self::Literal { text, datatype, language } = self else {
            return match (self, kind) {
                (Self::Iri(iri), Kind::Iri) => Some(Typed::Iri(iri.clone())),
                _ => None,
            };
        };
        let own = self.kind()?;
        let plain = datatype == rdf::XSD_STRING && language.is_none();
        let numeric = matches!((own, kind), (Kind::Integer, Kind::Decimal) | (Kind::Decimal, Kind::Integer));
        if own != kind && !plain && !numeric {
            return None;
        }
        match kind {
            // A text that is no IRI is no value of this type: unlike every IRI would be too much to say.
            Kind::Iri => NamedNode::new(text.as_str()).ok().map(|iri| Typed::Iri(iri.into_string())),
            Kind::Text => Some(Typed::Text(text.clone(), language.clone())),
            Kind::Boolean => match text.as_str() {
                "true" | "1" => Some(Typed::Boolean(true)),
                "false" | "0" => Some(Typed::Boolean(false)),
                _ => None,
            },
            Kind::Integer | Kind::Decimal => {
                let datatype = datatype.strip_prefix(rdf::XSD_NS)?;
                Number::of_datatype(text, if plain { "double" } else { datatype }).map(Typed::Number)
            }
            Kind::Instant => parse_instant(text).map(Typed::Instant),
            Kind::Duration => Duration::parse(text, datatype.strip_prefix(rdf::XSD_NS)?).map(Typed::Duration),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iri(iri) => write!(f, "<{iri}>"),
            Self::Literal { text, language: Some(language), .. } => write!(f, "\"{text}\"@{language}"),
            Self::Literal { text, .. } => write!(f, "\"{text}\""),
            Self::Unreadable => f.write_str("an unreadable value"),
        }
    }
}

impl Typed {
    /// Whether both are the same value; `None` where they cannot be compared.
    pub(super) fn equals(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Iri(left), Self::Iri(right)) => Some(left == right),
            (Self::Boolean(left), Self::Boolean(right)) => Some(left == right),
            (Self::Text(left, left_tag), Self::Text(right, right_tag)) if left_tag == right_tag => {
                Some(left == right)
            }
            _ => self.order(other).map(Ordering::is_eq),
        }
    }

    /// The order of two numbers, instants, or durations of one family; nothing else has an order.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => Some(left.order(right)),
            (Self::Instant(left), Self::Instant(right)) => Some(left.cmp(right)),
            (Self::Duration(left), Self::Duration(right)) => left.order(*right),
            _ => None,
        }
    }
}

impl Number {
    /// Reads a number of an XSD datatype: its lexical space, its sign and range.
    fn of_datatype(text: &str, datatype: &str) -> Option<Self> {
        match datatype {
            "double" | "float" => Self::parse(text, true, true),
            "decimal" => Self::parse(text, true, false),
            name => {
                let (least, greatest) = integer_range(name)?;
                let number = Self::parse(text, false, false)?;
                let above = |bound: &str| Self::parse(bound, false, false).map(|bound| number.order(&bound));
                let inside = (least.is_empty() || above(least)?.is_ge())
                    && (greatest.is_empty() || above(greatest)?.is_le());
                inside.then_some(number)
            }
        }
    }

    fn parse(text: &str, fraction_allowed: bool, exponent_allowed: bool) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) if exponent_allowed => (mantissa, signed_small(exponent)?),
            Some(_) => return None,
            None => (text, 0),
        };
        let (negative, unsigned) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = match unsigned.split_once('.') {
            Some(parts) if fraction_allowed => parts,
            Some(_) => return None,
            None => (unsigned, ""),
        };
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if all.is_empty() || all.len() > NUMBER_BOUND || !all.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let leading = all.iter().take_while(|digit| **digit == b'0').count();
        let mut digits: Vec<u8> = all.into_iter().skip(leading).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Self { negative: false, digits, point: 0 });
        }
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()? + exponent;
        Some(Self { negative, digits, point })
    }

    fn order(&self, other: &Self) -> Ordering {
        match (self.sign(), other.sign()) {
            (1, 1) => self.magnitude(other),
            (-1, -1) => other.magnitude(self),
            (left, right) => left.cmp(&right),
        }
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits))
    }
}

/// The bounds of an XSD integer type; an empty bound is none.
fn integer_range(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "integer" => ("", ""),
        "nonNegativeInteger" => ("0", ""),
        "positiveInteger" => ("1", ""),
        "nonPositiveInteger" => ("", "0"),
        "negativeInteger" => ("", "-1"),
        "long" => ("-9223372036854775808", "9223372036854775807"),
        "int" => ("-2147483648", "2147483647"),
        "short" => ("-32768", "32767"),
        "byte" => ("-128", "127"),
        "unsignedLong" => ("0", "18446744073709551615"),
        "unsignedInt" => ("0", "4294967295"),
        "unsignedShort" => ("0", "65535"),
        "unsignedByte" => ("0", "255"),
        _ => return None,
    })
}

/// A decimal exponent within the bound.
fn signed_small(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = text.parse().ok()?;
    (exponent.unsigned_abs() <= NUMBER_BOUND as u64).then_some(exponent)
}

/// An `xsd:dateTime` with a zone: four-digit year, no 24:00, no leap second, at most nanoseconds.
pub(super) fn parse_instant(text: &str) -> Option<DateTime<Utc>> {
    let (date, time) = text.split_once('T')?;
    let mut date = date.split('-');
    let (year, month, day) = (digits(date.next()?, 4)?, digits(date.next()?, 2)?, digits(date.next()?, 2)?);
    if date.next().is_some() || year == 0 {
        return None;
    }
    let zone_at = time.find(['Z', '+', '-'])?;
    let (clock, zone) = time.split_at_checked(zone_at)?;
    let mut clock = clock.split(':');
    let (hour, minute) = (digits(clock.next()?, 2)?, digits(clock.next()?, 2)?);
    let second = clock.next()?;
    if clock.next().is_some() {
        return None;
    }
    let (second, fraction) = match second.split_once('.') {
        Some((second, fraction)) => (digits(second, 2)?, nanoseconds(fraction)?),
        None => (digits(second, 2)?, 0),
    };
    if second > 59 {
        return None;
    }
    let local = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?
        .and_hms_nano_opt(hour, minute, second, fraction)?
        .and_utc();
    local.checked_sub_signed(TimeDelta::minutes(zone_minutes(zone)?))
}

fn zone_minutes(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, offset) = match zone.strip_prefix('-') {
        Some(offset) => (-1, offset),
        None => (1, zone.strip_prefix('+')?),
    };
    let (hours, minutes) = offset.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    let total = i64::from(hours) * 60 + i64::from(minutes);
    (minutes < 60 && total <= 14 * 60).then_some(sign * total)
}

/// Exactly `length` decimal digits.
fn digits(text: &str, length: usize) -> Option<u32> {
    let fits = text.len() == length && text.bytes().all(|digit| digit.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

/// One to nine digits of a second's fraction.
fn nanoseconds(fraction: &str) -> Option<u32> {
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    format!("{fraction:0<9}").parse().ok()
}

impl Duration {
    fn parse(text: &str, datatype: &str) -> Option<Self> {
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let rest = rest.strip_prefix('P')?;
        let (date, time) = match rest.split_once('T') {
            Some((_, "")) => return None,
            Some((date, time)) => (date, time),
            None => (rest, ""),
        };
        let mut months = 0i128;
        let mut nanos = 0i128;
        let mut any = false;
        let mut part = |rest: &mut &str, unit: char, into: &mut i128, scale: i128| -> Option<()> {
            if let Some((number, tail)) = rest.split_once(unit) {
                *into += whole(number)?.checked_mul(scale)?;
                *rest = tail;
                any = true;
            }
            Some(())
        };
        let mut date = date;
        part(&mut date, 'Y', &mut months, 12)?;
        part(&mut date, 'M', &mut months, 1)?;
        part(&mut date, 'D', &mut nanos, 86_400_000_000_000)?;
        let mut time = time;
        part(&mut time, 'H', &mut nanos, 3_600_000_000_000)?;
        part(&mut time, 'M', &mut nanos, 60_000_000_000)?;
        if let Some(seconds) = time.strip_suffix('S') {
            let (seconds, fraction) = match seconds.split_once('.') {
                Some((seconds, fraction)) => (seconds, nanoseconds(fraction)?),
                None => (seconds, 0),
            };
            nanos += whole(seconds)?.checked_mul(1_000_000_000)? + i128::from(fraction);
            (any, time) = (true, "");
        }
        let of_family = match datatype {
            "dayTimeDuration" => !text.contains('Y') && months == 0,
            "yearMonthDuration" => !text.contains(['D', 'T']),
            _ => true,
        };
        let complete = any && date.is_empty() && time.is_empty() && of_family;
        complete.then_some(Self { months: sign * months, nanoseconds: sign * nanos })
    }

    fn order(self, other: Self) -> Option<Ordering> {
        if self.months == 0 && other.months == 0 {
            Some(self.nanoseconds.cmp(&other.nanoseconds))
        } else if self.nanoseconds == 0 && other.nanoseconds == 0 {
            Some(self.months.cmp(&other.months))
        } else {
            None
        }
    }
}

/// One to 15 digits: no sum of such parts overflows.
fn whole(text: &str) -> Option<i128> {
    let fits = !text.is_empty() && text.len() <= 15 && text.bytes().all(|digit| digit.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, name: &str) -> Value {
        Value::typed(text, &format!("{}{name}", rdf::XSD_NS))
    }

    fn parses(text: &str, name: &str) -> bool {
        let value = typed(text, name);
        value.kind().and_then(|kind| value.read(kind)).is_some()
    }

    fn order(left: (&str, &str), right: (&str, &str)) -> Option<Ordering> {
        let (left, right) = (typed(left.0, left.1), typed(right.0, right.1));
        let kind = right.kind()?;
        left.read(kind)?.order(&right.read(kind)?)
    }

    #[test]
    fn ambiguous_or_exploding_literals_do_not_parse() {
        for (text, name) in [
            ("2026-01-01T00:00:00", "dateTime"),
            ("2026-01-01T24:00:00Z", "dateTime"),
            ("2026-01-01T00:00:60Z", "dateTime"),
            ("2026-02-30T00:00:00Z", "dateTime"),
            ("2026-01-01T00:00:00+14:01", "dateTime"),
            ("2026-01-01T00:00:00z", "dateTime"),
            ("2026-01-01T00:00:00.Z", "dateTime"),
            ("2026-01-01T00:00:00.1234567890Z", "dateTime"),
            ("12026-01-01T00:00:00Z", "dateTime"),
            (" 2026-01-01T00:00:00Z", "dateTime"),
            ("0000-01-01T00:00:00Z", "dateTime"),
            ("2026-01-01", "date"),
            ("2026-01-01Z", "date"),
            ("NaN", "double"),
            ("INF", "double"),
            ("-INF", "float"),
            ("1e33", "double"),
            ("1e-33", "double"),
            ("1e999999999", "double"),
            ("1e", "double"),
            ("1E5", "decimal"),
            ("1.0", "integer"),
            ("", "integer"),
            (".", "decimal"),
            ("1_000", "integer"),
            ("١", "integer"),
            ("111111111111111111111111111111111", "integer"),
            ("-1", "nonNegativeInteger"),
            ("0", "positiveInteger"),
            ("256", "unsignedByte"),
            ("TRUE", "boolean"),
            ("P", "duration"),
            ("PT", "duration"),
            ("P1S", "duration"),
            ("P1DT", "duration"),
            ("P1M1Y", "duration"),
            ("P9999999999999999D", "duration"),
            ("P1M", "dayTimeDuration"),
            ("P1D", "yearMonthDuration"),
            ("https://x.example/", "anyURI"),
        ] {
            assert!(!parses(text, name), "{text} as {name}");
        }
    }

    #[test]
    fn well_formed_literals_parse() {
        for (text, name) in [
            ("2026-01-01T00:00:00Z", "dateTime"),
            ("2026-01-01T00:00:00.123456789+05:30", "dateTimeStamp"),
            ("11111111111111111111111111111111", "integer"),
            ("-0.5", "decimal"),
            (".5", "decimal"),
            ("5.", "decimal"),
            ("1e32", "double"),
            ("255", "unsignedByte"),
            ("1", "boolean"),
            ("-P1Y2M3DT4H5M6.7S", "duration"),
            ("PT5M", "dayTimeDuration"),
            ("P1Y", "yearMonthDuration"),
        ] {
            assert!(parses(text, name), "{text} as {name}");
        }
    }

    #[test]
    fn numbers_compare_exactly() {
        let pairs = [
            ("0.1", "0.10", Ordering::Equal),
            ("-0", "0", Ordering::Equal),
            ("00012", "12", Ordering::Equal),
            ("9", "10", Ordering::Less),
            ("-9", "-10", Ordering::Greater),
            ("-1", "0.001", Ordering::Less),
            ("0.09", "0.1", Ordering::Less),
            ("99999999999999999999999999999999", "99999999999999999999999999999998", Ordering::Greater),
            ("9007199254740993", "9007199254740992", Ordering::Greater),
        ];
        for (left, right, expected) in pairs {
            assert_eq!(order((left, "decimal"), (right, "decimal")), Some(expected), "{left} {right}");
        }
        assert_eq!(order(("1e3", "double"), ("1000", "integer")), Some(Ordering::Equal));
        assert_eq!(order(("123e-2", "double"), ("1.23", "decimal")), Some(Ordering::Equal));
    }

    #[test]
    fn instants_compare_across_zones() {
        let noon = ("2026-06-16T12:00:00Z", "dateTime");
        assert_eq!(order(("2026-06-16T13:30:00+01:30", "dateTime"), noon), Some(Ordering::Equal));
        assert_eq!(order(("2026-06-16T11:59:59.999999999Z", "dateTime"), noon), Some(Ordering::Less));
    }

    #[test]
    fn durations_compare_within_one_family_only() {
        assert_eq!(order(("P1D", "duration"), ("PT24H", "duration")), Some(Ordering::Equal));
        assert_eq!(order(("P1Y", "duration"), ("P11M", "duration")), Some(Ordering::Greater));
        assert_eq!(order(("P1M", "duration"), ("P30D", "duration")), None);
        assert_eq!(order(("P1M1D", "duration"), ("P1M1D", "duration")), None);
    }

    #[test]
    fn texts_iris_and_booleans_have_no_order_and_types_do_not_mix() {
        assert_eq!(order(("a", "string"), ("b", "string")), None);
        assert_eq!(order(("false", "boolean"), ("true", "boolean")), None);
        assert!(typed("1", "boolean").read(Kind::Decimal).is_none());
        assert!(Value::Iri("https://x.example/".into()).read(Kind::Text).is_none());
        assert!(typed("2026-01-01T00:00:00Z", "dateTime").read(Kind::Text).is_none());
    }
}
