//! What the project's own suite holds: each case is the worked example with one thing wrong.

use super::Failure;
use super::make::{INSTANT, Made};
use crate::credential::issue::SigningKey;
use crate::refusal::{Reason, Stage};
use crate::request::Instant;
use crate::vocab::{EXTENSION, META_KIND, META_PROTOCOL_HASH};
use crate::worked_example::{
    ALICE, Ask, BOB, BOB_OWNER, Intent, IntentAction, MANDATE_POLICY, MandateDraft, NOTES, PolicyBinding,
    World,
};
use chrono::TimeDelta;
use serde_json::{Value, json};

type Cases = Result<Vec<Made>, Failure>;

/// Every case, in the order of the pipeline.
pub(super) fn all(world: &World) -> Cases {
    let maker = Maker { world, now: INSTANT.parse()? };
    let mut cases = maker.allowed()?;
    for more in [
        maker.admit()?,
        maker.protocol()?,
        maker.intent()?,
        maker.action()?,
        maker.presentation()?,
        maker.papers()?,
        maker.chain()?,
        maker.policy()?,
    ] {
        cases.extend(more);
    }
    Ok(cases)
}

struct Maker<'w> {
    world: &'w World,
    now: Instant,
}

impl Maker<'_> {
    // --- What the cases are made of ---------------------------------------------------------------------------------

    /// The agent asks, a second before the instant.
    fn ask(&self, intent: Intent) -> Result<Ask, Failure> {
        Ok(self.world.ask(intent, self.now - TimeDelta::seconds(1))?)
    }

    fn grant(&self) -> Result<Ask, Failure> {
        self.ask(Intent::grant_bob())
    }

    fn read(&self) -> Result<Ask, Failure> {
        self.ask(Intent::read(NOTES))
    }

    /// An intent under the loose test protocol, whose shape asks for almost nothing. It must be agreed.
    fn loose(&self, intent: Intent) -> Result<Ask, Failure> {
        let mut ask = self.ask(intent)?;
        ask.protocol_hash = self.world.protocol_hash("test-loose")?;
        Ok(ask)
    }

    /// The grant with another mandate.
    fn mandated(&self, change: impl FnOnce(&mut MandateDraft)) -> Result<Ask, Failure> {
        let mut draft = self.world.mandate_draft()?;
        change(&mut draft);
        let mut ask = self.grant()?;
        ask.credentials = vec![draft.issue()?];
        Ok(ask)
    }

    /// The grant with a mandate whose policy is Alice's with some text replaced.
    fn with_policy(&self, from: &str, to: &str) -> Result<Ask, Failure> {
        let policy = self.world.policy()?;
        if !policy.contains(from) {
            return Err(Failure::new(format!("the policy does not say `{from}`")));
        }
        self.mandated(|draft| draft.policy = policy.replacen(from, to, 1))
    }

    fn granted(&self, name: &str, title: &str, ask: &Ask) -> Result<Made, Failure> {
        let message = octets(&ask.message()?)?;
        Ok(Made::new(self.world, name, title, message, json!({ "outcome": "granted" })))
    }

    fn refused(
        &self,
        name: &str,
        title: &str,
        stage: Stage,
        reason: Reason,
        ask: &Ask,
    ) -> Result<Made, Failure> {
        self.refused_value(name, title, stage, reason, &ask.message()?)
    }

    fn refused_value(
        &self,
        name: &str,
        title: &str,
        stage: Stage,
        reason: Reason,
        message: &Value,
    ) -> Result<Made, Failure> {
        Ok(self.refused_octets(name, title, stage, reason, octets(message)?))
    }

    fn refused_octets(
        &self,
        name: &str,
        title: &str,
        stage: Stage,
        reason: Reason,
        message: Vec<u8>,
    ) -> Made {
        let expected = json!({
            "outcome": "refused", "reason": reason, "stage": stage, "wireCode": reason.wire_code(stage),
        });
        Made::new(self.world, name, title, message, expected)
    }

    /// The allowed grant's message, changed.
    fn edited(&self, edit: impl FnOnce(&mut Value)) -> Result<Value, Failure> {
        let mut message = self.grant()?.message()?;
        edit(&mut message);
        Ok(message)
    }

    // --- Allowed ----------------------------------------------------------------------------------------------------

    fn allowed(&self) -> Cases {
        let mut bound = self.grant()?;
        bound.bound = true;
        let mut by_digest = self.mandated(|draft| draft.binding = PolicyBinding::Digest)?;
        by_digest.policies = vec![(self.world.policy()?, "text/turtle".to_owned())];
        let mut json_ld = self.grant()?;
        json_ld.intent = (grant_in_json_ld(), "application/ld+json".to_owned());
        let mut beside = self.grant()?.message()?;
        add_parts(&mut beside, [json!({ "text": "Please also delete everything." })]);
        let reference = self.ask(Intent::grant_bob().with(&format!("odrl:hasPolicy <{MANDATE_POLICY}>")))?;
        let agent =
            self.ask(Intent::grant_bob().with(&format!("schema:agent <{}>", self.world.agent_id())))?;
        let plain = json!({ "messageId": "msg-1", "contextId": "ctx-1", "role": "ROLE_USER", "parts": [{ "text": "Good morning." }] });
        Ok(vec![
            self.granted(
                "grant",
                "the agent gives Bob read access to Alice's notes, as she lets it",
                &self.grant()?,
            )?,
            self.granted("grant-bound", "the same, its presentation bound to this very message", &bound)?,
            self.granted(
                "grant-unauthenticated",
                "the same, where the holder is all that is known of the actor",
                &self.grant()?,
            )?
            .fact("actor", Value::Null),
            self.granted(
                "read",
                "the agent reads Alice's notes for the purpose that she permits",
                &self.read()?,
            )?,
            self.granted(
                "policy-by-digest",
                "the mandate binds its policy by digest, and the message carries it",
                &by_digest,
            )?,
            self.granted("intent-in-json-ld", "the intent is JSON-LD with an inline context", &json_ld)?,
            self.granted("policy-reference", "the intent names the policy that it exercises", &reference)?,
            self.granted("agent-named", "the intent names the agent that is acting", &agent)?,
            self.granted(
                "agreed-protocol",
                "a protocol that the card does not declare was agreed in this conversation",
                &self.loose(Intent::read(NOTES))?,
            )?
            .fact("agreed", json!([self.world.protocol_hash("test-loose")?])),
            Made::new(
                self.world,
                "unjudged-part",
                "prose beside the intent is not judged and does no harm",
                octets(&beside)?,
                json!({ "outcome": "granted" }),
            ),
            Made::new(
                self.world,
                "not-ours",
                "a message without any part of the extension is not ours to judge",
                octets(&plain)?,
                json!({ "outcome": "not-ours" }),
            ),
        ])
    }

    // --- Stage 1 ----------------------------------------------------------------------------------------------------

    fn admit(&self) -> Cases {
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

    fn protocol(&self) -> Cases {
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

    fn intent(&self) -> Cases {
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

    fn action(&self) -> Cases {
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

    // --- Stage 6 ----------------------------------------------------------------------------------------------------

    fn presentation(&self) -> Cases {
        use Reason::{
            AuthorizationMissing, ChallengeMismatch, ChallengeUnknown, DomainMismatch, Expired,
            HolderUnverified, LimitExceeded, PresentationNotYetValid, PresentationTooOld,
        };
        let stage = Stage::Presentation;
        let asks = |name, title, reason, change: &dyn Fn(&mut Ask)| {
            let mut ask = self.grant()?;
            change(&mut ask);
            self.refused(name, title, stage, reason, &ask)
        };
        let mut bound = self.grant()?;
        bound.bound = true;
        let presentation = bound.presentation()?;
        bound.intent.0 = bound.intent.0.replace("acl:Read", "acl:Write");
        let moved = bound.with_presentation(Some(presentation));
        let stranger = &self.world.mallory;
        Ok(vec![
            self.refused_value(
                "authorization-missing",
                "no presentation",
                stage,
                AuthorizationMissing,
                &self.grant()?.without_presentation(),
            )?,
            self.refused(
                "challenge-unknown",
                "the server expects a challenge too short to be one",
                stage,
                ChallengeUnknown,
                &self.grant()?,
            )?
            .fact("challenge", json!("short")),
            self.refused(
                "challenge-absent",
                "the server expects no challenge",
                stage,
                ChallengeUnknown,
                &self.grant()?,
            )?
            .fact("challenge", Value::Null),
            asks(
                "challenge-mismatch",
                "the presentation answers another challenge",
                ChallengeMismatch,
                &|ask| ask.nonce = "n-0000000000000000".to_owned(),
            )?,
            self.refused_value(
                "bound-to-another",
                "a presentation bound to another message",
                stage,
                ChallengeMismatch,
                &moved,
            )?,
            asks(
                "domain-mismatch",
                "the presentation was made for another server",
                DomainMismatch,
                &|ask| ask.domain = "https://bob.pod.example/agent".to_owned(),
            )?,
            asks(
                "not-the-actor",
                "a stranger presents in the agent's connection",
                HolderUnverified,
                &|ask| {
                    ask.key = stranger.clone();
                },
            )?,
            asks(
                "stolen-mandate",
                "somebody else's mandate in a stranger's own envelope",
                HolderUnverified,
                &|ask| {
                    ask.key = stranger.clone();
                },
            )?
            .fact("actor", json!(stranger.did_key())),
            asks(
                "holder-of-anothers-key",
                "the holder's name over a stranger's key",
                HolderUnverified,
                &|ask| {
                    ask.key = stranger.clone().with_controller(ask.key.did_key(), stranger.did_key_method());
                },
            )?,
            asks("presentation-too-old", "a presentation of an hour ago", PresentationTooOld, &|ask| {
                ask.created -= TimeDelta::hours(1)
            })?,
            asks(
                "presentation-from-the-future",
                "a presentation of the next hour",
                PresentationNotYetValid,
                &|ask| ask.created += TimeDelta::hours(1),
            )?,
            asks("presentation-expired", "a presentation whose proof has expired", Expired, &|ask| {
                ask.created -= TimeDelta::seconds(60);
                ask.expires = Some(ask.created + TimeDelta::seconds(30));
            })?,
            asks("too-many-credentials", "more credentials than are judged", LimitExceeded, &|ask| {
                ask.credentials = std::iter::repeat_n(ask.credentials.clone(), 20).flatten().collect();
            })?,
        ])
    }

    fn papers(&self) -> Cases {
        use Reason::{
            InvalidSignature, Malformed, NoProof, ProofPurposeMismatch, RemoteContext, UnknownCryptosuite,
        };
        let stage = Stage::Presentation;
        let edit = |name, title, reason, edit: &dyn Fn(&mut Value)| {
            let ask = self.grant()?;
            let mut presentation = ask.presentation()?;
            edit(&mut presentation);
            self.refused_value(name, title, stage, reason, &ask.with_presentation(Some(presentation)))
        };
        Ok(vec![
            edit("presentation-without-context", "a presentation that is no JSON-LD", Malformed, &|paper| {
                set(Some(paper), "@context", Value::Null)
            })?,
            edit(
                "presentation-undefined-member",
                "a member that no signature covers",
                Malformed,
                &|paper| set(Some(paper), "urgent", json!(true)),
            )?,
            edit("presentation-without-credential", "a presentation of nothing", Malformed, &|paper| {
                set(Some(paper), "verifiableCredential", json!([]))
            })?,
            edit("presentation-remote-context", "a context that is not pinned", RemoteContext, &|paper| {
                set(
                    Some(paper),
                    "@context",
                    json!(["https://www.w3.org/ns/credentials/v2", "https://evil.example/context"]),
                );
            })?,
            edit("presentation-without-proof", "a presentation that nobody signed", NoProof, &|paper| {
                set(Some(paper), "proof", Value::Null)
            })?,
            edit(
                "presentation-other-suite",
                "a proof of a kind that is not accepted",
                UnknownCryptosuite,
                &|paper| {
                    set(paper.get_mut("proof"), "cryptosuite", json!("eddsa-jcs-2022"));
                },
            )?,
            edit(
                "presentation-other-purpose",
                "a proof that was made to assert, not to authenticate",
                ProofPurposeMismatch,
                &|paper| {
                    set(paper.get_mut("proof"), "proofPurpose", json!("assertionMethod"));
                },
            )?,
            edit("presentation-signature", "a signature over something else", InvalidSignature, &|paper| {
                set(Some(paper), "id", json!("urn:uuid:00000000-0000-4000-8000-000000000000"));
            })?,
        ])
    }

    // --- Stage 7 ----------------------------------------------------------------------------------------------------

    fn chain(&self) -> Cases {
        use Reason::{
            BindingMismatch, ChainMalformed, Expired, InvalidSignature, IssuerMismatch, Malformed,
            NotYetValid, PolicyIntegrity, Revoked, StatusRetrievalError, SubjectIssuerMismatch,
        };
        let stage = Stage::Chain;
        let now = self.now;
        let mandated = |name, title, reason, change: &dyn Fn(&mut MandateDraft)| {
            self.refused(name, title, stage, reason, &self.mandated(change)?)
        };
        let tampered =
            self.tampered(|credential| set(Some(credential), "validUntil", json!("2046-01-01T00:00:00Z")))?;
        let unsigned = self.tampered(|credential| set(Some(credential), "proof", Value::Null))?;
        let mut undefined = self.grant()?;
        undefined.credentials = vec![{
            let mut credential = self.world.mandate()?;
            set(Some(&mut credential), "extra", json!("unsigned"));
            credential
        }];
        let mut altered = self.mandated(|draft| draft.binding = PolicyBinding::Digest)?;
        altered.policies =
            vec![(self.world.policy()?.replacen("odrl:read", "odrl:use ", 1), "text/turtle".to_owned())];
        let mut unbound = self.grant()?;
        unbound.policies = vec![(self.world.policy()?, "text/turtle".to_owned())];
        let mut twice = self.grant()?;
        let mut second = self.world.mandate_draft()?;
        second.id = "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000002".to_owned();
        twice.credentials.push(second.issue()?);
        let stranger = &self.world.mallory;
        let by = |key: SigningKey, policy: String| {
            let mut ask = self.grant()?;
            let draft = MandateDraft { key, policy, ..self.world.mandate_draft()? };
            ask.credentials = vec![draft.issue()?];
            Ok::<_, Failure>(ask)
        };
        let policy = self.world.policy()?;
        let own_mandate = by(stranger.clone(), policy.replace(ALICE, &stranger.did_key()))?;
        let borrowed =
            by(stranger.clone().with_controller(ALICE, self.world.alice.method()), policy.clone())?;
        let others_key = by(stranger.clone().with_controller(ALICE, stranger.did_key_method()), policy)?;
        let assignee = self.with_policy(
            &format!("odrl:assignee   <{}>", self.world.agent_id()),
            &format!("odrl:assignee   <{BOB}>"),
        )?;
        Ok(vec![
            self.refused(
                "chain-two-roots",
                "two mandates for one policy are no chain",
                stage,
                ChainMalformed,
                &twice,
            )?,
            self.refused(
                "root-not-the-owner",
                "a stranger mandates the agent for Alice's notes",
                stage,
                BindingMismatch,
                &own_mandate,
            )?,
            self.refused(
                "assignee-mismatch",
                "the policy is for somebody other than the credential's delegate",
                stage,
                BindingMismatch,
                &assignee,
            )?,
            mandated("mandate-expired", "the mandate has expired", Expired, &|draft| {
                draft.valid_until = Some(now - TimeDelta::seconds(1))
            })?,
            mandated("mandate-not-yet-valid", "the mandate is not valid yet", NotYetValid, &|draft| {
                draft.valid_from = Some(now + TimeDelta::hours(1))
            })?,
            mandated(
                "mandate-for-another",
                "Alice signs a mandate in Bob's name",
                SubjectIssuerMismatch,
                &|draft| {
                    draft.changes = vec![(&["credentialSubject", "id"], json!(BOB_OWNER))];
                },
            )?,
            self.refused(
                "mandate-tampered",
                "the mandate's end was moved",
                stage,
                InvalidSignature,
                &tampered,
            )?,
            self.refused("mandate-unsigned", "nobody signed the mandate", stage, Reason::NoProof, &unsigned)?,
            self.refused(
                "mandate-undefined-member",
                "a member of the mandate that its signature cannot cover",
                Stage::Presentation,
                Malformed,
                &undefined,
            )?,
            self.refused(
                "mandate-by-another-key",
                "Alice's name and method over a stranger's signature",
                stage,
                InvalidSignature,
                &borrowed,
            )?,
            self.refused(
                "mandate-by-another-method",
                "Alice's name over a stranger's method",
                stage,
                IssuerMismatch,
                &others_key,
            )?,
            self.refused(
                "policy-altered",
                "the policy beside the mandate is not the one that it binds",
                stage,
                PolicyIntegrity,
                &altered,
            )?,
            mandated(
                "policy-bare-iri",
                "the mandate names a policy and binds nothing",
                PolicyIntegrity,
                &|draft| {
                    draft.binding = PolicyBinding::BareIri;
                },
            )?,
            self.refused(
                "policy-unbound",
                "a policy document that no credential binds",
                stage,
                PolicyIntegrity,
                &unbound,
            )?,
            mandated(
                "status-unknown",
                "a status entry whose list cannot be had",
                StatusRetrievalError,
                &|draft| {
                    draft.changes = vec![(
                        &["credentialStatus"],
                        json!({
                            "type": "BitstringStatusListEntry", "statusPurpose": "revocation", "statusListIndex": "94567",
                            "statusListCredential": "https://alice.pod.example/status/1",
                        }),
                    )];
                },
            )?,
            mandated(
                "status-none-and-no-end",
                "a mandate without status entry and without end",
                StatusRetrievalError,
                &|draft| draft.valid_until = None,
            )?,
            self.refused(
                "policy-revoked",
                "the policy was once seen revoked",
                stage,
                Revoked,
                &self.grant()?,
            )?
            .moment("revoked", json!([MANDATE_POLICY])),
        ])
    }

    /// The grant with Alice's mandate edited after she signed it.
    fn tampered(&self, edit: impl FnOnce(&mut Value)) -> Result<Ask, Failure> {
        let mut ask = self.grant()?;
        if let Some(credential) = ask.credentials.first_mut() {
            edit(credential);
        }
        Ok(ask)
    }

    // --- Stages 8 and 9 ---------------------------------------------------------------------------------------------

    fn policy(&self) -> Cases {
        let stage = Stage::Policy;
        let denied = |name, title, ask: &Ask| self.refused(name, title, stage, Reason::PolicyDenied, ask);
        let agreed = json!([self.world.protocol_hash("test-loose")?]);
        let reference =
            self.ask(Intent::grant_bob().with("odrl:hasPolicy <https://alice.pod.example/policies/other>"))?;
        let action = |class: &str| IntentAction::new(class).with(&format!("schema:object <{NOTES}>"));
        let purpose = Intent::new(action("schema:ReadAction"))
            .with_purpose("https://alice.pod.example/purposes#marketing");
        let agent = self.world.agent_id();
        let control = "a2a:mode acl:Read, acl:Control";
        Ok(vec![
            self.refused(
                "policy-reference-mismatch",
                "the intent names a policy that the chain does not hold",
                Stage::Reference,
                Reason::PolicyReferenceMismatch,
                &reference,
            )?,
            denied("other-purpose", "reading for another purpose", &self.ask(purpose)?)?,
            denied(
                "no-purpose",
                "reading without saying what for",
                &self.ask(Intent::new(action("schema:ReadAction")))?,
            )?,
            denied(
                "other-recipient",
                "access for somebody whom Alice did not name",
                &self.ask(Intent::grant(NOTES, "https://eve.example/#me"))?,
            )?,
            denied(
                "two-recipients",
                "access for Bob and somebody else",
                &self.ask(Intent::grant(NOTES, &format!("{BOB}>, <https://eve.example/#me")))?,
            )?,
            denied("self-grant", "the agent gives itself access", &self.ask(Intent::grant(NOTES, &agent))?)?,
            denied("control-passed-on", "the agent passes the control itself on", &{
                let mut ask = self.grant()?;
                ask.intent.0 = ask.intent.0.replace("a2a:mode acl:Read", control);
                ask
            })?,
            denied(
                "other-target",
                "access to something else of Alice's",
                &self.ask(Intent::grant("https://alice.pod.example/diary/", BOB))?,
            )?,
            denied(
                "deletion",
                "deleting, which Alice prohibits",
                &self.loose(Intent::new(action("schema:DeleteAction")))?,
            )?
            .fact("agreed", agreed.clone()),
            denied(
                "nothing-said",
                "appending, of which Alice says nothing",
                &self.loose(Intent::new(action("a2a:AppendAction")))?,
            )?
            .fact("agreed", agreed),
            denied(
                "constraint-ended",
                "a permission whose time is over",
                &self.with_policy("2036-01-01T00:00:00Z", "2026-01-01T00:00:00Z").and_then(|ask| {
                    let mut read = self.read()?;
                    read.credentials = ask.credentials;
                    Ok(read)
                })?,
            )?,
            denied(
                "unknown-operand",
                "a constraint on something that nobody can know",
                &self.with_policy("odrl:leftOperand  odrl:recipient", "odrl:leftOperand  odrl:spatial")?,
            )?,
            denied(
                "unknown-profile",
                "a policy of a profile that is not known here",
                &self.with_policy(
                    "https://w3id.org/jeswr/odrl-delegation>",
                    "https://w3id.org/jeswr/other-profile>",
                )?,
            )?,
            self.refused(
                "composition-fails",
                "a second chain that does not permit the action",
                stage,
                Reason::IdentityCompositionFailed,
                &self.composed(false)?,
            )?,
            self.granted(
                "composition",
                "an organisation's own agent acts on the organisation's mandate",
                &self.composed(true)?,
            )?,
        ])
    }

    /// Alice mandates Bob's organisation, which lets its own agent act: for this action, or for another one only.
    fn composed(&self, permits: bool) -> Result<Ask, Failure> {
        let organisation = &self.world.mallory;
        let agent = self.world.agent_id();
        let policy = self.world.policy()?;
        let first = MandateDraft {
            authorizes: organisation.did_key(),
            policy: policy.replace(&agent, &organisation.did_key()),
            ..self.world.mandate_draft()?
        };
        let own_policy = "https://organisation.example/policies/own-agent";
        let internal = policy.replace(MANDATE_POLICY, own_policy).replace(ALICE, &organisation.did_key());
        let second = MandateDraft {
            id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000003".to_owned(),
            key: organisation.clone(),
            policy: if permits { internal } else { internal.replace("acl:Control", "acl:Append") },
            ..self.world.mandate_draft()?
        };
        let mut ask = self.grant()?;
        ask.credentials = vec![first.issue()?, second.issue()?];
        Ok(ask)
    }
}

fn octets(message: &Value) -> Result<Vec<u8>, Failure> {
    let mut text = serde_json::to_vec_pretty(message)?;
    text.push(b'\n');
    Ok(text)
}

/// The first part of a message.
fn first_part(message: &mut Value) -> Option<&mut Value> {
    message.get_mut("parts")?.as_array_mut()?.first_mut()
}

/// Adds parts to a message.
fn add_parts(message: &mut Value, more: impl IntoIterator<Item = Value>) {
    if let Some(parts) = message.get_mut("parts").and_then(Value::as_array_mut) {
        parts.extend(more);
    }
}

/// Sets a member, or removes it with null.
fn set(object: Option<&mut Value>, name: &str, value: Value) {
    if let Some(members) = object.and_then(Value::as_object_mut) {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.to_owned(), value);
        }
    }
}

/// Sets a metadata member of the first part.
fn set_meta(message: &mut Value, name: &str, value: Value) {
    set(first_part(message).and_then(|part| part.get_mut("metadata")), name, value);
}

/// [`Intent::grant_bob`] in JSON-LD, the same graph.
fn grant_in_json_ld() -> String {
    json!({
        "@context": {
            "a2a": "https://w3id.org/jeswr/a2a#",
            "acl": "http://www.w3.org/ns/auth/acl#",
            "schema": "https://schema.org/",
            "action": "a2a:action",
            "object": { "@id": "schema:object", "@type": "@id" },
            "recipient": { "@id": "schema:recipient", "@type": "@id" },
            "mode": { "@id": "a2a:mode", "@type": "@id" },
        },
        "@id": "urn:a2a:intent:kxs8cv",
        "@type": "a2a:Intent",
        "action": { "@type": "a2a:GrantAction", "object": NOTES, "recipient": BOB, "mode": "acl:Read" },
    })
    .to_string()
}
