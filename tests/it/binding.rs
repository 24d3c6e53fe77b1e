//! Threat 32, as messages: the same octets under another media type, charset or base, two policies in one document,
//! parts that nobody binds, and parts that stand in for what the operator keeps.

use crate::support::{engine_with, grant, noon, world};
use crate::three::Judge;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use writgate::worked_example::{MANDATE_POLICY, MandateDraft, PolicyBinding};
use writgate::{Config, Outcome, Reason};

const TURTLE: &str = "text/turtle";
const JSON_LD: &str = "application/ld+json";

fn sri(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(<sha2::Sha256 as sha2::Digest>::digest(text.as_bytes())))
}

/// A message under a mandate of one hop that binds its policy by reference.
struct Case {
    /// What the issuer signed for.
    entry: Value,
    /// The authorization parts beside the presentation: text and media type.
    parts: Vec<(String, String)>,
    config: Config,
}

impl Case {
    /// `text` signed as `stated`, and sent as `sent`.
    fn new(text: &str, stated: &str, sent: &str) -> Self {
        Self {
            entry: json!({ "id": MANDATE_POLICY, "digestSRI": sri(text), "mediaType": stated }),
            parts: vec![(text.to_owned(), sent.to_owned())],
            config: world().config(noon()).unwrap(),
        }
    }

    fn message(&self) -> Value {
        let draft = MandateDraft {
            binding: PolicyBinding::Digest,
            changes: vec![(&["relatedResource"], self.entry.clone())],
            ..world().mandate_draft().unwrap()
        };
        let mut ask = grant();
        ask.credentials = vec![draft.issue().unwrap()];
        ask.policies.clone_from(&self.parts);
        ask.message().unwrap()
    }

    fn judge(&self, message: &Value) -> Option<Reason> {
        let engine = engine_with(self.config.clone());
        let snapshot = engine.snapshot(&world().facts(), noon()).unwrap();
        let evaluation = Judge { facts: world().facts(), engine, snapshot }.message(message);
        let reason = evaluation.report.reason;
        assert_eq!(reason.is_none(), matches!(evaluation.outcome, Outcome::Granted(_)));
        reason
    }

    fn reason(&self) -> Option<Reason> {
        self.judge(&self.message())
    }
}

fn policy() -> String {
    world().policy().unwrap()
}

/// The example's policy in JSON-LD, with absolute IRIs alone.
fn policy_in_json() -> String {
    let embedded = world().mandate_draft().unwrap().issue().unwrap();
    embedded["credentialSubject"]["policy"].to_string()
}

#[test]
fn the_same_octets_are_read_as_their_issuer_says() {
    let (turtle, json) = (policy(), policy_in_json());
    for (text, stated, sent, expected) in [
        (&turtle, TURTLE, TURTLE, None),
        (&json, JSON_LD, JSON_LD, None),
        // The sender's label does not count, both ways.
        (&turtle, TURTLE, JSON_LD, None),
        (&json, JSON_LD, TURTLE, None),
        // The issuer's does.
        (&turtle, JSON_LD, TURTLE, Some(Reason::PolicyIntegrity)),
        (&turtle, JSON_LD, JSON_LD, Some(Reason::PolicyIntegrity)),
        (&json, TURTLE, JSON_LD, Some(Reason::PolicyIntegrity)),
        (&json, TURTLE, TURTLE, Some(Reason::PolicyIntegrity)),
        (&turtle, "text/plain", TURTLE, Some(Reason::PolicyIntegrity)),
        (&turtle, "application/json", TURTLE, Some(Reason::PolicyIntegrity)),
        (&json, "application/json", JSON_LD, Some(Reason::PolicyIntegrity)),
        (&turtle, "application/trig", TURTLE, Some(Reason::PolicyIntegrity)),
    ] {
        let case = Case::new(text, stated, sent);
        assert_eq!(case.reason(), expected, "{stated} sent as {sent}: {}", text == &json);
    }
    let mut unstated = Case::new(&turtle, TURTLE, TURTLE);
    unstated.entry.as_object_mut().unwrap().remove("mediaType");
    assert_eq!(unstated.reason(), None, "Turtle is the default");
    unstated = Case::new(&json, JSON_LD, JSON_LD);
    unstated.entry.as_object_mut().unwrap().remove("mediaType");
    assert_eq!(unstated.reason(), Some(Reason::PolicyIntegrity), "and JSON-LD is not");
}

/// A comment of one syntax holds a policy of the other: whoever chose the media type would choose the policy.
#[test]
fn a_text_that_two_syntaxes_could_read_is_one_graph() {
    let wide = policy().replace("acl:Control", "odrl:use");
    let polyglot = format!("#{}\n{}", policy_in_json(), wide.replace("odrl:use", "odrl:delete"));
    // As Turtle, the JSON is a comment: what is left permits deleting, and no grant.
    for sent in [TURTLE, JSON_LD] {
        assert_eq!(Case::new(&polyglot, TURTLE, sent).reason(), Some(Reason::PolicyDenied), "{sent}");
        assert_eq!(Case::new(&polyglot, JSON_LD, sent).reason(), Some(Reason::PolicyIntegrity), "{sent}");
    }
}

#[test]
fn charsets_marks_and_bases_do_not_change_what_is_read() {
    let turtle = policy();
    // A charset that the sender names, and one that it uses.
    for sent in ["text/turtle; charset=utf-16", "text/turtle;charset=iso-8859-1"] {
        let reason = Case::new(&turtle, TURTLE, sent).reason();
        assert!(
            reason.is_some_and(
                |reason| reason == Reason::MediaTypeUnsupported || reason == Reason::PolicyIntegrity
            ),
            "{sent}: {reason:?}"
        );
    }
    assert_eq!(Case::new(&turtle, TURTLE, "text/turtle; charset=UTF-8").reason(), None);
    for stated in ["text/turtle; charset=utf-16", "text/turtle;charset=iso-8859-1"] {
        assert_eq!(Case::new(&turtle, stated, TURTLE).reason(), Some(Reason::PolicyIntegrity), "{stated}");
    }
    // A document in UTF-16, whose octets its issuer signed for: as octets of a part, it is no text part.
    let utf_16: Vec<u8> = turtle.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let mut case = Case::new(&turtle, TURTLE, TURTLE);
    let digest = <sha2::Sha256 as sha2::Digest>::digest(&utf_16);
    case.entry["digestSRI"] = json!(format!("sha256-{}", STANDARD.encode(digest)));
    let mut message = case.message();
    let part = message["parts"][2].as_object_mut().unwrap();
    part.remove("text");
    part.insert("raw".to_owned(), json!(STANDARD.encode(&utf_16)));
    assert!(case.judge(&message).is_some());
    // The same code units as a text: one NUL before each letter.
    let units: String = turtle.chars().flat_map(|letter| ['\0', letter]).collect();
    assert_eq!(Case::new(&units, TURTLE, TURTLE).reason(), Some(Reason::PolicyIntegrity));
    // A mark of byte order is an octet like any other: signed for or not, it is no Turtle.
    let marked = format!("\u{feff}{turtle}");
    let signed_without =
        Case { parts: vec![(marked.clone(), TURTLE.to_owned())], ..Case::new(&turtle, TURTLE, TURTLE) };
    assert_eq!(signed_without.reason(), Some(Reason::PolicyIntegrity));
    assert_eq!(Case::new(&marked, TURTLE, TURTLE).reason(), Some(Reason::PolicyIntegrity));
    // IRIs that need a base have none.
    let (name, rest) = ("alice-to-agent", "https://alice.pod.example/policies/");
    let relative = turtle.replace(&format!("<{rest}{name}>"), &format!("<{name}>"));
    assert_ne!(relative, turtle);
    assert_eq!(Case::new(&relative, TURTLE, TURTLE).reason(), Some(Reason::PolicyIntegrity));
    let in_json = policy_in_json().replace(&format!("\"{rest}{name}\""), &format!("\"{name}\""));
    assert_ne!(in_json, policy_in_json());
    assert_eq!(Case::new(&in_json, JSON_LD, JSON_LD).reason(), Some(Reason::PolicyIntegrity));
}

/// A base that the document itself states is part of what was signed for.
#[test]
fn a_base_of_the_document_itself_is_signed_with_it() {
    let turtle = policy().replace("<https://alice.pod.example/policies/alice-to-agent>", "<alice-to-agent>");
    let based = format!("BASE <https://alice.pod.example/policies/>\n{turtle}");
    assert_eq!(Case::new(&based, TURTLE, TURTLE).reason(), None);
    let elsewhere = format!("BASE <https://mallory.example/policies/>\n{turtle}");
    assert_eq!(Case::new(&elsewhere, TURTLE, TURTLE).reason(), Some(Reason::BindingMismatch));
}

#[test]
fn a_document_holds_one_policy_and_a_part_is_bound_once() {
    let turtle = policy();
    let two = format!(
        "{turtle}\n<https://alice.pod.example/policies/other> a <http://www.w3.org/ns/odrl/2/Agreement> ."
    );
    assert_eq!(Case::new(&two, TURTLE, TURTLE).reason(), Some(Reason::ChainMalformed));
    let other = turtle.replace("alice-to-agent", "other");
    assert_eq!(
        Case::new(&other, TURTLE, TURTLE).reason(),
        Some(Reason::BindingMismatch),
        "another policy's id"
    );
    let with = |parts: &[&str]| {
        let parts = parts.iter().map(|text| ((*text).to_owned(), TURTLE.to_owned())).collect();
        Case { parts, ..Case::new(&turtle, TURTLE, TURTLE) }.reason()
    };
    assert_eq!(with(&[&turtle]), None);
    assert_eq!(with(&[]), Some(Reason::PolicyIntegrity), "no part");
    for parts in [[turtle.as_str(), &other], [other.as_str(), &turtle], [turtle.as_str(), &turtle]] {
        assert_eq!(with(&parts), Some(Reason::PolicyIntegrity), "a part that nobody binds");
    }
    let wide = turtle.replace("acl:Control", "odrl:use");
    assert_eq!(
        with(&[&wide]),
        Some(Reason::PolicyIntegrity),
        "a part with the policy's id and other content"
    );
}

/// The example's configuration with one policy in its store.
fn keeping(policy: &str) -> Config {
    let name = sri(policy).replace(|letter: char| !letter.is_ascii_alphanumeric(), "");
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("binding-{name}"));
    std::fs::create_dir_all(folder.join("policies")).unwrap();
    std::fs::write(folder.join("policies/policy.ttl"), policy).unwrap();
    let file = world().text("vectors/writgate.toml").unwrap();
    let file = file.replace("\"../", &format!("\"{}/", env!("CARGO_MANIFEST_DIR")));
    let own = folder.join("writgate.toml");
    std::fs::write(&own, format!("policies = \"policies\"\n{file}")).unwrap();
    writgate::ConfigFile::read(&own).unwrap().load(noon()).unwrap()
}

/// What the operator keeps under the policy's IRI is the policy. A part neither stands in for it nor stands beside it.
#[test]
fn a_part_does_not_shadow_a_policy_of_the_store() {
    let turtle = policy();
    let case = |store: &str, parts: &[&str]| {
        let mut case = Case::new(&turtle, TURTLE, TURTLE);
        case.parts = parts.iter().map(|text| ((*text).to_owned(), TURTLE.to_owned())).collect();
        case.config = keeping(store);
        case.reason()
    };
    assert_eq!(case(&turtle, &[]), None, "the store's document has the digest");
    assert_eq!(case(&turtle, &[&turtle]), Some(Reason::PolicyIntegrity), "and nobody binds the part then");
    let other = turtle.replace("acl:Control", "odrl:use");
    assert_eq!(
        case(&other, &[&turtle]),
        Some(Reason::PolicyIntegrity),
        "the part does not replace the store's"
    );
}
