//! `xsd:dateTime` as papers may write it: an instant, or nothing.

use crate::request::Instant;
use chrono::{FixedOffset, NaiveDate, SecondsFormat, Utc};

/// The most fractional digits that an instant keeps; more would be lost, so they do not parse.
const FRACTION_DIGITS: usize = 9;

/// Reads an `xsd:dateTime` with a zone. Without one, with 24:00 or a second 60, of another form than
/// `YYYY-MM-DDThh:mm:ss[.f](Z|±hh:mm)`, it does not parse (`mandate.md` 7).
pub(crate) fn parse(text: &str) -> Option<Instant> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?.strip_prefix('T')?);
    let (time, rest) = (rest.get(..8)?, rest.get(8..)?);
    let [year, month, day] = fields(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = fields(time, ':', [2, 2, 2])?;
    let (nanosecond, zone) = fraction(rest)?;
    let local = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?
        .and_hms_nano_opt(hour, minute, second, nanosecond)?;
    Some(local.and_local_timezone(offset(zone)?).single()?.with_timezone(&Utc))
}

/// Writes an instant as papers carry it.
pub(crate) fn write(instant: Instant) -> String {
    instant.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Three runs of digits, of exactly these lengths.
fn fields(text: &str, separator: char, lengths: [usize; 3]) -> Option<[u32; 3]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (number, length) in numbers.iter_mut().zip(lengths) {
        *number = digits(parts.next()?, length)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn digits(text: &str, length: usize) -> Option<u32> {
    if text.len() != length || !text.bytes().all(|octet| octet.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// The nanoseconds of an optional fraction, and what follows it.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(rest) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let end = rest.find(|character: char| !character.is_ascii_digit())?;
    let (run, zone) = (rest.get(..end)?, rest.get(end..)?);
    if run.is_empty() || run.len() > FRACTION_DIGITS {
        return None;
    }
    Some((format!("{run:0<FRACTION_DIGITS$}").parse().ok()?, zone))
}

fn offset(zone: &str) -> Option<FixedOffset> {
    if zone == "Z" {
        return FixedOffset::east_opt(0);
    }
    let (sign, rest) = match zone.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, zone.strip_prefix('-')?),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    let within = (hours < 14 && minutes < 60) || (hours == 14 && minutes == 0);
    let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
    if within { FixedOffset::east_opt(sign * seconds) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn an_instant_with_a_zone_parses() {
        let expected = DateTime::parse_from_rfc3339("2026-07-03T09:08:12.933Z").unwrap().with_timezone(&Utc);
        assert_eq!(parse("2026-07-03T09:08:12.933Z"), Some(expected));
        assert_eq!(parse("2026-07-03T11:08:12.933+02:00"), Some(expected));
        assert_eq!(parse("2026-07-02T23:08:12.933-10:00"), Some(expected));
        assert_eq!(parse(&write(expected)), Some(expected));
    }

    #[test]
    fn what_is_not_an_instant_with_a_zone_does_not_parse() {
        for text in [
            "",
            "2026-07-03",
            "2026-07-03Z",
            "2026-07-03T09:08:12",
            "2026-07-03T24:00:00Z",
            "2026-07-03T09:08:60Z",
            "2026-06-30T23:59:60Z",
            "2026-07-03T09:60:00Z",
            "2026-02-30T09:08:12Z",
            "2026-13-01T09:08:12Z",
            "2026-07-03t09:08:12Z",
            "2026-07-03T09:08:12z",
            "2026-07-03 09:08:12Z",
            " 2026-07-03T09:08:12Z",
            "2026-07-03T09:08:12Z ",
            "2026-07-03T09:08:12.Z",
            "2026-07-03T09:08:12.1234567890Z",
            "2026-07-03T09:08:12.5",
            "2026-07-03T09:08:12+0200",
            "2026-07-03T09:08:12+15:00",
            "2026-07-03T09:08:12+14:01",
            "2026-07-03T09:08:12+02:60",
            "+026-07-03T09:08:12Z",
            "-0001-07-03T09:08:12Z",
            "12026-07-03T09:08:12Z",
            "2026-7-03T09:08:12Z",
            "2026-07-03T9:08:12Z",
            "2026-07-03T09:08:1é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
