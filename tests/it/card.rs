//! The Agent Card: what `writgate card` prints, and what a client reads of it.

use crate::command_line::{Scratch, writgate};
use crate::support::{noon, world};
use serde_json::{Value, json};
use writgate::card::PeerExtension;
use writgate::limits::Limits;
use writgate::vocab::EXTENSION;

/// An Agent Card with this entry, in the official types.
fn card(entry: a2a::AgentExtension) -> a2a::AgentCard {
    serde_json::from_value(json!({
        "name": "Alice's agent", "description": "d", "version": "1", "skills": [],
        "supportedInterfaces": [
            {"url": "https://alice.pod.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": true, "extensions": [entry]},
        "defaultInputModes": ["text/turtle"], "defaultOutputModes": ["text/turtle"],
    }))
    .unwrap()
}

#[test]
fn the_card_lists_the_declared_documents_and_requires_nothing() {
    let run = writgate(&["card", "--config", "vectors/writgate.toml"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&printed["uri"], &printed["required"]), (&json!(EXTENSION), &json!(false)));
    assert!(printed["description"].is_string());
    let params = &printed["params"];
    assert_eq!(params["formats"], json!(["text/turtle", "application/ld+json"]));
    assert_eq!(params["nlNegotiation"], true);
    // The third document of the configuration is not declared.
    assert_eq!(
        params["protocolDocuments"],
        json!([
            {
                "name": "Grant access", "source": "https://alice.pod.example/protocols/grant-access",
                "hash": "sha256:4af1e70e42283872cbc0dd3a5eeaa1bd86adda728c993447bed8930d990ab509",
            },
            {
                "name": "Read", "source": "https://alice.pod.example/protocols/read",
                "hash": "sha256:57f3559ccd7c55c20e2f457f8ef09e8cef316fb9717bd0df9f17f5c7f5fd5c1b",
            },
        ])
    );
    assert_eq!(printed, serde_json::to_value(world().config(noon()).unwrap().agent_extension()).unwrap());
}

#[test]
fn a_card_of_ours_in_the_official_types_is_read_back_as_it_was_meant() {
    let config = world().config(noon()).unwrap();
    let entry = config.agent_extension();
    let card = card(entry.clone());
    let octets = serde_json::to_vec(&card).unwrap();
    // The official types hold the whole entry.
    let again: a2a::AgentCard = serde_json::from_slice(&octets).unwrap();
    assert_eq!(again.capabilities.extensions, Some(vec![entry]));
    let peer = PeerExtension::of_card(&octets, &Limits::default()).unwrap().unwrap();
    assert!(!peer.must_activate());
    assert_eq!(peer.documents().len(), 2);
    for document in config.protocols().iter() {
        let declared = peer.document(document.hash());
        assert_eq!(peer.may_skip_handshake(document.hash()), declared.is_some());
        assert_eq!(declared.map(|declared| &declared.source), document.source());
        assert!(declared.is_none_or(|declared| declared.name == document.name()));
    }
}

#[test]
fn the_card_says_required_where_the_configuration_does() {
    let scratch = Scratch::new("card");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = std::fs::read_to_string(root.join("vectors/writgate.toml")).unwrap();
    let whole = whole.replace("\"../", &format!("\"{}/", root.display()));
    scratch.write(
        "writgate.toml",
        &format!("extension_required = true\n{}", whole.replace("name = \"Read\"\n", "")),
    );
    let printed: Value = serde_json::from_str(&scratch.run(&["card"])).unwrap();
    assert_eq!(printed["required"], true);
    // Without a name the document's IRI stands for it.
    assert_eq!(printed["params"]["protocolDocuments"][1]["name"], "https://alice.pod.example/protocols/read");
    let entry: a2a::AgentExtension = serde_json::from_value(printed).unwrap();
    let octets = serde_json::to_vec(&card(entry)).unwrap();
    assert!(PeerExtension::of_card(&octets, &Limits::default()).unwrap().unwrap().must_activate());
}

#[test]
fn a_declared_document_without_a_source_stops_the_start() {
    let scratch = Scratch::new("card-source");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = std::fs::read_to_string(root.join("vectors/writgate.toml")).unwrap();
    let whole = whole.replace("\"../", &format!("\"{}/", root.display()));
    let source = "source = \"https://alice.pod.example/protocols/read\"\n";
    assert!(whole.contains(source));
    for (to, problem) in [
        ("", "no `source`"),
        ("source = \"http://alice.pod.example/protocols/read\"\n", "no https URL"),
        ("source = \"https://alice.pod.example/protocols/read\"\nname = \"\"\n", "name"),
    ] {
        let text = whole.replace(source, to);
        let text = if problem == "name" { text.replace("name = \"Read\"\n", "") } else { text };
        scratch.write("writgate.toml", &text);
        let run = scratch.try_run(&["card"]);
        assert_eq!(run.status, 2, "{to}");
        assert!(run.stderr.contains(problem), "{to}: {}", run.stderr);
    }
}

#[test]
fn a_name_on_the_card_cannot_move_the_cursor() {
    let scratch = Scratch::new("card-hostile");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = std::fs::read_to_string(root.join("vectors/writgate.toml")).unwrap();
    let whole = whole.replace("\"../", &format!("\"{}/", root.display()));
    scratch.write("writgate.toml", &whole.replace("name = \"Read\"", "name = \"\\u202Edaer\""));
    let printed = scratch.run(&["card"]);
    assert!(!printed.contains('\u{202e}') && printed.contains("\\u202edaer"), "{printed}");
    let entry: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(entry["params"]["protocolDocuments"][1]["name"], "\u{202e}daer");
}
