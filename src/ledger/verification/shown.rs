//! What a person reads of a file that may hold anything.

use crate::audit::escape::{code_point, is_unsafe};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use std::fmt::Write as _;

/// Characters of a text that are shown.
const MAX_CHARS: usize = 200;

/// A text without anything that moves a cursor or reorders what stands beside it, cut where it is long.
pub(super) fn text(text: &str) -> String {
    let mut out = String::new();
    for (index, character) in text.chars().enumerate() {
        if index >= MAX_CHARS {
            out.push_str("...");
            break;
        }
        if is_unsafe(character) {
            out.push_str(&code_point(character));
        } else {
            out.push(character);
        }
    }
    out
}

/// A row by the columns of its key.
pub(super) fn row(row: &Row<'_>, key: &[&str]) -> String {
    let cells = key.iter().map(|column| match row.get_ref(*column) {
        Ok(value) => format!("{column} {}", cell(value)),
        Err(_) => format!("{column} unreadable"),
    });
    cells.collect::<Vec<_>>().join(", ")
}

fn cell(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(octets) => match std::str::from_utf8(octets) {
            Ok(content) => format!("\"{}\"", text(content)),
            Err(_) => format!("{} octets that are no text", octets.len()),
        },
        ValueRef::Blob(octets) if octets.len() <= 32 => {
            octets.iter().fold(String::from("0x"), |mut out, octet| {
                let _ = write!(out, "{octet:02x}");
                out
            })
        }
        ValueRef::Blob(octets) => format!("{} octets", octets.len()),
    }
}
