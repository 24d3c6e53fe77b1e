//! Texts from outside, made inert for the form that they are written in.

use std::fmt::Write as _;

/// Characters of a name that a sentence or a line shows.
const MAX_NAME_CHARS: usize = 200;

/// A text that cannot move the cursor, change colours, or reorder what stands beside it: control and bidirectional
/// formatting characters become escapes, and so does what no eye sees.
pub(crate) fn escaped(text: &str) -> String {
    replaced(text, |out, character| out.push_str(&code_point(character)))
}

/// The escape of a character: `\u{202e}`.
pub(crate) fn code_point(character: char) -> String {
    format!("\\u{{{:x}}}", u32::from(character))
}

/// Whether a character is more, or less, than what it looks like: controls, line and paragraph separators, whatever Unicode
/// says may be shown as nothing (`Default_Ignorable_Code_Point`, which has the bidirectional controls), annotations,
/// noncharacters.
pub(crate) fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fdd0}'..='\u{fdef}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
        || u32::from(character) & 0xfffe == 0xfffe
}

/// JSON as a terminal may show it: such a character, which stands in strings alone, becomes JSON's own escape, so that it
/// reads as the same value. Line breaks stay.
pub(crate) fn json_for_terminal(text: &str) -> String {
    replaced_but_breaks(text, |out, character| {
        let mut units = [0u16; 2];
        for unit in character.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// N-Triples and N-Quads as a terminal may show them: the same, by their own escape.
pub(crate) fn nquads_for_terminal(text: &str) -> String {
    replaced_but_breaks(text, |out, character| {
        let _ = write!(out, "\\U{:08X}", u32::from(character));
    })
}

/// A name of somebody's choice within a sentence or a line of ours: quoted, escaped and cut, so that it is seen to be a
/// name and can end neither the quotes nor the line.
pub(crate) fn name(text: &str) -> String {
    let mut cut = escaped(&text.replace('\\', "\\\\").replace('"', "\\\""));
    crate::refusal::cut(&mut cut, MAX_NAME_CHARS);
    format!("\"{cut}\"")
}

/// One cell of CSV (RFC 4180). Control and bidirectional characters become escapes, so that a record is a line; what a
/// spreadsheet would take for a formula begins with an apostrophe. That is so after a semicolon too: where people write a
/// decimal comma, a spreadsheet parts cells there, whatever the quotes say.
pub(crate) fn csv_cell(text: &str) -> String {
    let cell: Vec<_> = text.split(';').map(without_formula).collect();
    let cell = cell.join(";");
    let plain = |character: char| {
        character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | ':' | '/' | '#')
    };
    if cell.chars().all(plain) { cell } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

fn without_formula(text: &str) -> String {
    let first = text.chars().find(|character| !character.is_whitespace() && !is_unsafe(*character));
    let formula =
        matches!(first, Some('=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}'));
    format!("{}{}", if formula { "'" } else { "" }, escaped(text))
}

/// A record of CSV, with its line end.
pub(crate) fn csv_record<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<_> = cells.into_iter().map(csv_cell).collect();
    format!("{}\r\n", cells.join(","))
}

fn replaced(text: &str, escape: impl Fn(&mut String, char)) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, character| {
        if is_unsafe(character) {
            escape(&mut out, character);
        } else {
            out.push(character);
        }
        out
    })
}

fn replaced_but_breaks(text: &str, escape: impl Fn(&mut String, char)) -> String {
    replaced(text, |out, character| match character {
        '\n' => out.push(character),
        _ => escape(out, character),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_in_a_cell_is_defused_wherever_it_begins() {
        for formula in [
            "=cmd|'/c calc'!A0",
            "+1",
            "-1",
            "@SUM(1)",
            " =1",
            "\t=1",
            "\r=1",
            "\u{feff}=1",
            "\u{a0}=1",
            "＝1",
            "\u{3164}=1",
            "\u{ad}=1",
        ] {
            let cell = csv_cell(formula);
            assert!(cell.starts_with("'") || cell.starts_with("\"'"), "{formula:?}: {cell}");
            assert!(!cell.chars().any(is_unsafe), "{formula:?}: {cell}");
        }
        assert_eq!(csv_cell("a; =1;b;\n@c"), "\"a;' =1;b;'\\u{a}@c\"");
        assert_eq!(csv_cell("https://a.example/#me"), "https://a.example/#me");
        assert_eq!(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_cell(""), "");
    }

    #[test]
    fn a_name_ends_neither_its_quotes_nor_its_line() {
        assert_eq!(name("a\"b\\\n\u{202e}"), "\"a\\\"b\\\\\\u{a}\\u{202e}\"");
        assert!(name(&"x".repeat(10_000)).chars().count() < 210);
    }

    /// One of each kind; none of them is seen where it stands.
    #[test]
    fn what_no_eye_sees_is_an_escape() {
        for character in [
            '\0',
            '\u{7f}',
            '\u{85}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180b}',
            '\u{200b}',
            '\u{2028}',
            '\u{202e}',
            '\u{2063}',
            '\u{2069}',
            '\u{3164}',
            '\u{fdd0}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff0}',
            '\u{ffff}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{1fffe}',
            '\u{e0041}',
            '\u{e0100}',
        ] {
            assert_eq!(name(&format!("a{character}b")), format!("\"a{}b\"", code_point(character)));
            assert!(csv_cell(&format!("a{character}b")).is_ascii());
        }
    }

    #[test]
    fn what_a_terminal_shows_reads_as_the_same_value() {
        let hostile = "\u{7f}\u{9b}31m\u{202e}\u{2028}\u{e0041}é";
        let json = json_for_terminal(&serde_json::to_string(hostile).unwrap());
        assert!(!json.chars().any(is_unsafe), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
        let term = oxrdf::Literal::new_simple_literal(hostile);
        let text = nquads_for_terminal(&format!("<urn:a:a> <urn:a:b> {term} .\n"));
        assert!(!text.trim_end().chars().any(is_unsafe), "{text}");
        let quad = oxttl::NQuadsParser::new().for_slice(&text).next().unwrap().unwrap();
        assert_eq!(quad.object, term.into());
    }
}
