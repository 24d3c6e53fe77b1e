//! Which action covers which: narrowly for permissions, widely for prohibitions (`mandate.md` 7).

use crate::vocab::{acl, odrl};

/// Whether a permission of `permitted` covers `requested`.
pub(crate) fn permits(permitted: &str, requested: &str) -> bool {
    let (permitted, requested) = (alias(permitted), alias(requested));
    if permitted == requested {
        return true;
    }
    match permitted {
        odrl::USE => ![odrl::GRANT_USE, odrl::NEXT_POLICY, odrl::TRANSFER, acl::CONTROL].contains(&requested),
        odrl::WRITE => [acl::APPEND, odrl::MODIFY].contains(&requested),
        _ => false,
    }
}

/// Whether a prohibition of `prohibited` meets `requested`: equal, covering or covered, over closed families.
pub(crate) fn prohibits(prohibited: &str, requested: &str) -> bool {
    let (prohibited, requested) = (family(prohibited), family(requested));
    let covers = |wide: &str, narrow: &str| wide == odrl::USE || wide == odrl::WRITE && narrow == acl::APPEND;
    prohibited == requested || covers(prohibited, requested) || covers(requested, prohibited)
}

/// An action by its full IRI: short names are ODRL's, but `append` and `control` are WAC's (`mandate.md` 10).
pub(crate) fn of_name(name: &str) -> String {
    match name {
        "append" => acl::APPEND.to_owned(),
        "control" => acl::CONTROL.to_owned(),
        name if name.contains(':') => name.to_owned(),
        name => format!("{}{name}", odrl::NS),
    }
}

fn alias(action: &str) -> &str {
    match action {
        acl::READ => odrl::READ,
        acl::WRITE => odrl::WRITE,
        other => other,
    }
}

fn family(action: &str) -> &str {
    match action {
        odrl::WRITE | odrl::WRITE_TO | odrl::MODIFY | acl::WRITE => odrl::WRITE,
        odrl::APPEND | odrl::APPEND_TO | acl::APPEND => acl::APPEND,
        odrl::READ | acl::READ => odrl::READ,
        other => other,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Every action with a rule of its own, and one without.
    pub(in crate::mandate::odrl) const ALL: [&str; 16] = [
        odrl::USE,
        odrl::READ,
        odrl::WRITE,
        odrl::WRITE_TO,
        odrl::MODIFY,
        odrl::DELETE,
        odrl::APPEND,
        odrl::APPEND_TO,
        odrl::GRANT_USE,
        odrl::NEXT_POLICY,
        odrl::TRANSFER,
        acl::READ,
        acl::WRITE,
        acl::APPEND,
        acl::CONTROL,
        "https://x.example/share",
    ];

    /// Beyond equality, exactly these permissions cover exactly these actions.
    #[test]
    fn a_permission_covers_nothing_but_the_table() {
        for permitted in ALL {
            for requested in ALL {
                let table = permitted == requested
                    || match permitted {
                        odrl::USE => ![odrl::GRANT_USE, odrl::NEXT_POLICY, odrl::TRANSFER, acl::CONTROL]
                            .contains(&requested),
                        odrl::WRITE | acl::WRITE => {
                            [odrl::WRITE, acl::WRITE, acl::APPEND, odrl::MODIFY].contains(&requested)
                        }
                        odrl::READ | acl::READ => [odrl::READ, acl::READ].contains(&requested),
                        _ => false,
                    };
                assert_eq!(permits(permitted, requested), table, "{permitted} {requested}");
            }
        }
    }

    /// Threat 7: no alias, narrower or wider word slips past a prohibition.
    #[test]
    fn a_prohibition_meets_every_alias_and_both_directions() {
        let writing = [odrl::WRITE, odrl::WRITE_TO, odrl::MODIFY, acl::WRITE];
        let appending = [odrl::APPEND, odrl::APPEND_TO, acl::APPEND];
        let reading = [odrl::READ, acl::READ];
        for prohibited in ALL {
            for requested in ALL {
                let both = |family: &[&str]| family.contains(&prohibited) && family.contains(&requested);
                let written = writing.contains(&prohibited) && appending.contains(&requested)
                    || appending.contains(&prohibited) && writing.contains(&requested);
                let table = prohibited == requested
                    || prohibited == odrl::USE
                    || requested == odrl::USE
                    || both(&writing)
                    || both(&appending)
                    || both(&reading)
                    || written;
                assert_eq!(prohibits(prohibited, requested), table, "{prohibited} {requested}");
            }
        }
    }

    #[test]
    fn whatever_is_permitted_can_be_prohibited_by_the_same_word() {
        for word in ALL {
            for requested in ALL {
                assert!(!permits(word, requested) || prohibits(word, requested), "{word} {requested}");
            }
        }
    }

    #[test]
    fn short_names_are_odrl_but_two() {
        assert_eq!(of_name("read"), odrl::READ);
        assert_eq!(of_name("append"), acl::APPEND);
        assert_eq!(of_name("control"), acl::CONTROL);
        assert_eq!(of_name("https://x.example/share"), "https://x.example/share");
    }
}
