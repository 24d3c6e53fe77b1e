//! Stages 1 to 5: the message, its Protocol Document, and what the intent asks for.

use super::{Cases, Maker, add_parts, first_part, octets, set, set_meta};
use crate::cli::Failure;
use crate::refusal::{Reason, Stage};
use crate::vocab::{EXTENSION, META_KIND, META_PROTOCOL_HASH};
use crate::worked_example::{BOB, Intent, IntentAction, NOTES};
use serde_json::{Value, json};

impl Maker<'_> {
    // --- Stage 1 ----------------------------------------------------------------------------------------------------

    pub(super) fn admit(&self) -> Cases {
        use Reason::{
            ExtensionNotActive, ExtensionNotTagged, LimitExceeded, MediaTypeUnsupported, MessageMalformed,
            MessageTooLarge, ProtocolRequired, WrongKind,
        };
        let stage = Stage::Admit;
        let whole = octets(&self.grant()?.message()?)?;
        let half = whole.get(..whole.len() / 2).unwrap_or_default().to_vec();
        let text = String::from_utf8(whole.clone())?;
        let twice = text.replacen('{', "{\"messageId\": \"msg-1\",", 1).into_bytes();
        let number = text.replacen('{', "{\"x\": 9007199254740993,", 1).into_bytes();
        let edit = |name, title, reason, edit: &dyn Fn(&mut Value)| {
            self.refused_value(name, title, stage, reason, &self.edited(edit)?)
        };
        let offer = json!({
            "kind": "upgrade-offer", "protocolHash": self.world.protocol_hash("read")?,
            "protocolSource": "https://alice.pod.example/protocols/read", "required": true,
        });
        let prose = json!({ "messageId": "msg-1", "contextId": "ctx-1", "role": "ROLE_USER", "parts": [{ "text": "Just do it." }] });
        Ok(vec![
            self.refused_octets(
                "message-too-large",
                "more octets than are read",
                stage,
                MessageTooLarge,
                whole.clone(),
            )
            .under("small-message.toml"),
            self.refused_octets("truncated", "half a message", stage, MessageMalformed, half),
            self.refused_octets("duplicate-member", "a member name twice", stage, MessageMalformed, twice),
            self.refused_octets(
                "inexact-number",
                "a number that a double cannot hold",
                stage,
                MessageMalformed,
                number,
            ),
            edit("two-contents", "a part with both text and data", MessageMalformed, &|message| {
                set(first_part(message), "data", json!({}));
            })?,
            edit(
                "snake-case-twin",
                "a member in the spelling of another binding",
                MessageMalformed,
                &|message| {
                    set(Some(message), "message_id", json!("msg-2"));
                },
            )?,
            edit("unknown-role", "a role that A2A does not have", MessageMalformed, &|message| {
                set(Some(message), "role", json!("ROLE_ADMIN"));
            })?,
            edit("two-intent-parts", "two intents", MessageMalformed, &|message| {
                let first = first_part(message).cloned();
                add_parts(message, first);
            })?,
            edit(
                "unknown-kind",
                "a part of a kind that the extension does not have",
                MessageMalformed,
                &|message| {
                    set_meta(message, META_KIND, json!("command"));
                },
            )?,
            edit(
                "rdf-without-kind",
                "an RDF part that does not say what it is",
                MessageMalformed,
                &|message| {
                    add_parts(
                        message,
                        [json!({ "text": "<urn:a> <urn:b> <urn:c> .", "mediaType": "text/turtle" })],
                    );
                },
            )?,
            edit(
                "other-context",
                "the message's context is not the conversation's",
                MessageMalformed,
                &|message| {
                    set(Some(message), "contextId", json!("ctx-2"));
                },
            )?,
            edit("too-many-parts", "more parts than are read", LimitExceeded, &|message| {
                add_parts(message, std::iter::repeat_n(json!({ "text": "x" }), 100));
            })?,
            edit("not-tagged", "the message does not list the extension", ExtensionNotTagged, &|message| {
                set(Some(message), "extensions", json!([format!("{EXTENSION}x")]));
            })?,
            self.refused(
                "not-active",
                "the request did not activate the extension",
                stage,
                ExtensionNotActive,
                &self.grant()?,
            )?
            .fact("activated", json!(["https://w3id.org/jeswr/a2a-rdf/v2"])),
            self.refused_value(
                "prose-after-required",
                "prose where a required protocol is active",
                stage,
                ProtocolRequired,
                &prose,
            )?
            .fact("proseForbidden", json!(true)),
            edit("handshake", "an offer is not an intent to decide", WrongKind, &|message| {
                set(
                    Some(message),
                    "parts",
                    json!([{ "data": offer, "metadata": { META_KIND: "upgrade-offer" } }]),
                );
            })?,
            edit("media-type", "an intent in a syntax that is not read", MediaTypeUnsupported, &|message| {
                set(first_part(message), "mediaType", json!("text/n3"));
            })?,
        ])
    }

    // --- Stage 2 ----------------------------------------------------------------------------------------------------

    pub(super) fn protocol(&self) -> Cases {
        let stage = Stage::Protocol;
        let hash = self.world.protocol_hash("grant-access")?;
        let claims = |name, title, reason, claim: &str| {
            let mut ask = self.grant()?;
            ask.protocol_hash = claim.to_owned();
            self.refused(name, title, stage, reason, &ask)
        };
        let none = self.edited(|message| set_meta(message, META_PROTOCOL_HASH, Value::Null))?;
        Ok(vec![
            self.refused_value(
                "protocol-hash-missing",
                "no Protocol Document is named",
                stage,
                Reason::MissingProtocolHash,
                &none,
            )?,
            claims(
                "protocol-hash-sha512",
                "a hash of another kind",
                Reason::HashPrefixUnknown,
                &hash.replace("sha256:", "sha512:"),
            )?,
            claims(
                "protocol-hash-upper-case",
                "the hash in another case",
                Reason::HashPrefixUnknown,
                &hash.to_uppercase().replace("SHA256:", "sha256:"),
            )?,
            claims(
                "protocol-unknown",
                "a document that nobody pinned",
                Reason::UnknownProtocol,
                &format!("sha256:{}", "0".repeat(64)),
            )?,
            self.refused(
                "protocol-not-agreed",
                "a pinned document that this conversation does not know",
                stage,
                Reason::UnknownProtocol,
                &self.loose(Intent::grant_bob())?,
            )?,
        ])
    }

    // --- Stages 3 and 4 ---------------------------------------------------------------------------------------------

    pub(super) fn intent(&self) -> Cases {
        use Reason::{GraphMalformed, GraphTooLarge, IntentAmbiguous, RemoteContext, ShapeViolation};
        let says = |name, title, stage, reason, text: String, media_type: &str| {
            let mut ask = self.grant()?;
            ask.intent = (text, media_type.to_owned());
            self.refused(name, title, stage, reason, &ask)
        };
        let turtle = Intent::grant_bob().turtle();
        let named_graph = json!({
            "@context": { "a2a": "https://w3id.org/jeswr/a2a#" },
            "@graph": [{ "@id": "urn:a2a:graph", "@graph": [{ "@id": "urn:a2a:intent:kxs8cv", "@type": "a2a:Intent" }] }],
        });
        let remote = json!({ "@context": "https://schema.org/", "@id": "urn:a2a:intent:kxs8cv", "@type": "https://w3id.org/jeswr/a2a#Intent" });
        let without_mode = turtle.replace("a2a:mode acl:Read", "a2a:note \"no mode\"");
        Ok(vec![
            says(
                "intent-syntax",
                "text that is not Turtle",
                Stage::Intent,
                GraphMalformed,
                turtle.replace(']', ""),
                "text/turtle",
            )?,
            says(
                "intent-relative-iri",
                "an IRI that depends on where it is read",
                Stage::Intent,
                GraphMalformed,
                turtle.replace(NOTES, "notes/"),
                "text/turtle",
            )?,
            says(
                "intent-named-graph",
                "a named graph makes another dataset",
                Stage::Intent,
                GraphMalformed,
                named_graph.to_string(),
                "application/ld+json",
            )?,
            self.refused(
                "intent-too-large",
                "more triples than are judged",
                Stage::Intent,
                GraphTooLarge,
                &self.grant()?,
            )?
            .under("small-graph.toml"),
            says(
                "intent-remote-context",
                "a context that is not pinned is never fetched",
                Stage::Intent,
                RemoteContext,
                remote.to_string(),
                "application/ld+json",
            )?,
            says(
                "intent-twice",
                "two intents in one graph",
                Stage::Intent,
                IntentAmbiguous,
                turtle.clone() + "<urn:a2a:intent:2> a a2a:Intent .\n",
                "text/turtle",
            )?,
            says(
                "intent-none",
                "a graph without an intent",
                Stage::Intent,
                IntentAmbiguous,
                turtle.replace("a2a:Intent", "a2a:Idea"),
                "text/turtle",
            )?,
            says(
                "shape-mode-missing",
                "a grant that does not say which access",
                Stage::Shape,
                ShapeViolation,
                without_mode,
                "text/turtle",
            )?,
            says(
                "shape-literal-target",
                "a target that is not an IRI",
                Stage::Shape,
                ShapeViolation,
                turtle.replace(&format!("<{NOTES}>"), "\"notes\""),
                "text/turtle",
            )?,
            self.refused(
                "shape-budget",
                "validation that would cost too much",
                Stage::Shape,
                Reason::ValidationBudgetExceeded,
                &self.grant()?,
            )?
            .under("small-validation.toml"),
        ])
    }

    // --- Stage 5 ----------------------------------------------------------------------------------------------------

    pub(super) fn action(&self) -> Cases {
        use Reason::{
            ActionUnknown, AgentMismatch, IntentUnmapped, MixedRoots, NoRootForTarget, TargetMissing,
            TargetNotNormal,
        };
        let agreed = json!([self.world.protocol_hash("test-loose")?]);
        let asks = |name, title, reason, intent: Intent| {
            self.refused(name, title, Stage::Action, reason, &self.ask(intent)?)
        };
        let loose = |name, title, reason, intent: Intent| {
            let made = self.refused(name, title, Stage::Action, reason, &self.loose(intent)?)?;
            Ok::<_, Failure>(made.fact("agreed", agreed.clone()))
        };
        let action = |class: &str| IntentAction::new(class).with(&format!("schema:object <{NOTES}>"));
        Ok(vec![
            asks(
                "unmapped-predicate",
                "a predicate that nothing judges",
                IntentUnmapped,
                Intent::grant_bob().with("schema:expires \"never\""),
            )?,
            asks(
                "unmapped-rdfs",
                "a statement about the vocabulary itself",
                IntentUnmapped,
                Intent::grant_bob().followed_by(
                    "a2a:GrantAction <http://www.w3.org/2000/01/rdf-schema#subClassOf> schema:ReadAction .",
                ),
            )?,
            asks(
                "unmapped-parameter",
                "a parameter that the protocol does not map",
                IntentUnmapped,
                Intent::grant_bob().with("a2a:parameter [ a2a:paramKey \"count\" ; a2a:paramValue 0 ]"),
            )?,
            loose(
                "action-unknown",
                "an action of a class that the protocol may not carry",
                ActionUnknown,
                Intent::new(action("schema:PayAction")),
            )?,
            loose(
                "action-two-classes",
                "an action of two classes",
                ActionUnknown,
                Intent::new(action("schema:ReadAction, schema:DeleteAction")),
            )?,
            loose(
                "target-missing",
                "an action on nothing",
                TargetMissing,
                Intent::new(IntentAction::new("schema:ReadAction")),
            )?,
            asks(
                "target-dot-segment",
                "a target with a dot segment",
                TargetNotNormal,
                Intent::grant("https://alice.pod.example/public/../notes/", BOB),
            )?,
            asks(
                "target-default-port",
                "a target with the default port",
                TargetNotNormal,
                Intent::grant("https://alice.pod.example:443/notes/", BOB),
            )?,
            asks(
                "target-escape",
                "a target with a needless escape",
                TargetNotNormal,
                Intent::grant("https://alice.pod.example/%6Eotes/", BOB),
            )?,
            asks(
                "target-host-case",
                "a target whose host is in another case",
                TargetNotNormal,
                Intent::grant("https://Alice.pod.example/notes/", BOB),
            )?,
            asks(
                "agent-mismatch",
                "the intent names another agent",
                AgentMismatch,
                Intent::grant_bob().with("schema:agent <https://mallory.example/#me>"),
            )?,
            asks(
                "no-root",
                "a target that nobody here owns",
                NoRootForTarget,
                Intent::grant("https://carol.pod.example/notes/", BOB),
            )?,
            asks(
                "no-root-lookalike",
                "a target on a host that only looks like Alice's",
                NoRootForTarget,
                Intent::grant("https://alice.pod.example.evil.example/", BOB),
            )?,
            loose(
                "mixed-roots",
                "targets of two owners in one intent",
                MixedRoots,
                Intent::new(
                    action("schema:ReadAction").with("schema:object <https://bob.pod.example/notes/>"),
                ),
            )?,
        ])
    }
}
