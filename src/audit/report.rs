//! `DecisionReportV1`.

use super::evidence::EvidenceDigests;
use super::record::RowChange;
use crate::decision::Obligation;
use crate::message::digest::jcs;
use crate::message::{Digest, UnjudgedPart};
use crate::refusal::{Evidence, Reason, Stage, WireCode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An instant as reports write it: RFC 3339 in UTC, with milliseconds.
pub(crate) fn instant_text(instant: crate::request::Instant) -> String {
    instant.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// An instant of recording: RFC 3339 in UTC, with microseconds.
pub(crate) fn recorded_text(instant: crate::request::Instant) -> String {
    instant.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)
}

/// The outcome of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluationOutcome {
    /// Stages 1 to 9 hold. A grant permits nothing.
    Granted,
    /// A stage said no.
    Refused,
    /// The message carries nothing of the extension.
    NotOurs,
}

/// The outcome of the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionOutcome {
    /// Allowed.
    Allow,
    /// Refused.
    Refuse,
    /// Not a message of the extension.
    NotOurs,
}

/// What `evaluate` determines. Instants are RFC 3339 in UTC with milliseconds; digests are lower-case hexadecimal
/// SHA-256. A member that a stage did not reach is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportBody {
    /// The version of Writgate that evaluated.
    pub engine_version: String,
    /// The configuration's generation.
    pub configuration_generation: u64,
    /// SHA-256 over the checked configuration.
    pub configuration_digest: Digest,
    /// The evaluation instant.
    pub instant: String,
    /// The outcome.
    pub outcome: EvaluationOutcome,
    /// The stage that refused, or the last that ran.
    pub stage: Stage,
    /// The extension's error value, for a refusal that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_code: Option<WireCode>,
    /// The reason, for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What the refusal rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The authenticated transport identity.
    pub peer: String,
    /// Who is acting, where the caller authenticated that; otherwise the holder is the actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The caller authenticated nobody as the actor.
    pub actor_unauthenticated: bool,
    /// The message's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The effective context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The message's digest (over its JCS form), or over its octets where it could not be read.
    pub message_digest: Digest,
    /// The hash of the Protocol Document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_hash: Option<String>,
    /// The RDFC-1.0 hash of the intent graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent_hash: Option<String>,
    /// The W3C validation report, for a shape violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shacl_report: Option<String>,
    /// The owner of every target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_principal: Option<String>,
    /// What the intent asks for.
    pub actions: Vec<ActionReport>,
    /// The verified holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// SHA-256 of the presentation's canonical form; of the signing input, where it is a JWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_digest: Option<Digest>,
    /// The hops of the primary chain, root first.
    pub chain: Vec<HopReport>,
    /// The hops of the actor chain, root first.
    pub actor_chain: Vec<HopReport>,
    /// Attributes that the policies were judged by.
    pub attributes: Vec<AttributeReport>,
    /// Duties of the grant.
    pub obligations: BTreeSet<Obligation>,
    /// Duties that the caller asserts are done.
    pub discharged: Vec<(String, Option<String>)>,
    /// After this instant the grant is void.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
    /// Status, revocation and key inputs consulted, with their ages.
    pub inputs: Vec<InputReport>,
    /// `unbound`, `provisional`, `parsed-by-caller`.
    pub marks: BTreeSet<String>,
    /// Parts of the message that were not judged.
    pub unjudged_parts: Vec<UnjudgedPart>,
    /// Nodes of the intent graph that were not judged.
    pub unjudged_nodes: Vec<String>,
}

impl ReportBody {
    /// The body's JCS form (RFC 8785): the octets that a re-decision must reproduce.
    ///
    /// # Errors
    /// A value that JCS cannot write; a body holds none.
    pub fn to_jcs(&self) -> Result<Vec<u8>, serde_json::Error> {
        jcs(self)
    }
}

/// One action under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionReport {
    /// The class in the intent.
    pub class: String,
    /// The ODRL or WAC action that was judged.
    pub action: String,
    /// The target.
    pub target: String,
}

/// One attribute and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttributeReport {
    /// The local name of the left operand.
    pub operand: String,
    /// The values, in N-Triples syntax.
    pub values: Vec<String>,
    /// Stated by the intent, rather than established by the engine or the server.
    pub stated: bool,
}

/// One hop of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HopReport {
    /// The credential's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// SHA-256 of the credential's canonical form; of the signing input, where it is a JWS.
    pub credential_digest: Digest,
    /// The delegating principal.
    pub issuer: String,
    /// The delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorizes: Option<String>,
    /// The policy's id.
    pub policy: String,
    /// SHA-256 of the policy.
    pub policy_digest: Digest,
    /// `embedded`, `digest` or `provisional`.
    pub binding: String,
    /// The end of the credential's life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
}

/// One input from outside the message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InputReport {
    /// `controller-document`, `policy`, `status-list` or `revocation`.
    pub kind: String,
    /// Its IRI.
    pub id: String,
    /// Seconds between its retrieval and the instant.
    pub age_seconds: i64,
}

/// What `decide` adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportEnvelope {
    /// UUIDv7.
    pub decision_id: String,
    /// The row's number, from 1, without gaps.
    pub sequence: u64,
    /// The decision's outcome.
    pub outcome: DecisionOutcome,
    /// The reason, where stage 10 refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Its wire code, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_code: Option<WireCode>,
    /// For a duplicate: the first decision's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_decision: Option<String>,
    /// Microseconds per stage.
    pub stage_micros: BTreeMap<String, u64>,
    /// Paths that masking removed.
    pub redacted: Vec<String>,
    /// When it was recorded: RFC 3339 in UTC with microseconds. Absent in a ledger before version 4, as all that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
    /// SHA-256 of the body's JCS form before anything was masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_digest: Option<Digest>,
    /// For an allow: SHA-256 over what is reserved and consumed ([`reservation_digest`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Digest>,
    /// What a re-decision needs, by digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceDigests>,
    /// What changed in the ledger's tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RowChange>,
    /// No row holds this report, and its sequence is 0: it is one of those that were counted from this minute on (RFC 3339
    /// in UTC), and is in the event row of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<String>,
}

impl ReportEnvelope {
    /// What a reader is told of a place that holds nothing: that it was masked, where it was, or else that there was `none`.
    pub(crate) fn absent<'t>(&self, path: &str, none: &'t str) -> &'t str {
        if self.is_redacted(path) { "(masked)" } else { none }
    }

    /// Whether masking removed what stood at a path.
    pub(crate) fn is_redacted(&self, path: &str) -> bool {
        self.redacted.iter().any(|redacted| redacted == path)
    }

    /// The envelope of a decision that no row holds: its sequence is 0.
    pub(crate) fn unrecorded(decision_id: String, outcome: DecisionOutcome) -> Self {
        Self {
            decision_id,
            sequence: 0,
            outcome,
            reason: None,
            wire_code: None,
            earlier_decision: None,
            stage_micros: BTreeMap::new(),
            redacted: Vec::new(),
            recorded: None,
            body_digest: None,
            reservation: None,
            evidence: None,
            changes: Vec::new(),
            counted_since: None,
        }
    }
}

/// What an allow takes for good: the message's id and the presentation's challenge.
#[derive(Debug, Clone, Copy)]
pub struct Reservation<'a> {
    /// The effective context.
    pub context: Option<&'a str>,
    /// The verified holder.
    pub holder: &'a str,
    /// The message's id.
    pub message_id: &'a str,
    /// The message's digest.
    pub message_digest: Digest,
    /// The transport identity.
    pub peer: &'a str,
    /// The decision.
    pub decision_id: &'a str,
    /// The presentation's domain.
    pub domain: &'a str,
    /// The challenge that the server gave out.
    pub challenge: &'a str,
}

/// SHA-256 over the JCS form of a reservation: so the report covers the rows of the replay tables, also where it is masked.
///
/// # Errors
/// A value that JCS cannot write; a reservation holds none.
pub fn reservation_digest(reservation: &Reservation<'_>) -> Result<Digest, serde_json::Error> {
    Digest::of_jcs(&serde_json::json!({
        "context": reservation.context, "holder": reservation.holder, "messageId": reservation.message_id,
        "messageDigest": reservation.message_digest, "peer": reservation.peer,
        "decisionId": reservation.decision_id, "domain": reservation.domain, "challenge": reservation.challenge,
    }))
}

/// One decision, as it is recorded: flat, versioned, chained by the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecisionReportV1 {
    /// `DecisionReportV1`.
    pub version: String,
    /// What `evaluate` determined.
    pub body: ReportBody,
    /// What `decide` added.
    pub envelope: ReportEnvelope,
}

impl DecisionReportV1 {
    /// The version word of this form.
    pub const VERSION: &'static str = "DecisionReportV1";
}

/// A granted body with every member that a grant can have.
#[cfg(test)]
pub(crate) fn example_body() -> ReportBody {
    let hop = HopReport {
        credential: Some("urn:uuid:5a2c5bb2-58c5-4e4f-a8d8-0d6f0d7a1f10".into()),
        credential_digest: Digest::of("credential"),
        issuer: "https://alice.example/#me".into(),
        authorizes: Some("https://agent.example/#a".into()),
        policy: "https://alice.example/policy/1".into(),
        policy_digest: Digest::of("policy"),
        binding: "embedded".into(),
        valid_until: Some("2026-12-31T00:00:00.000Z".into()),
    };
    ReportBody {
        engine_version: "0.1.0".into(),
        configuration_generation: 1,
        configuration_digest: Digest::of("configuration"),
        instant: "2026-05-01T12:00:00.000Z".into(),
        outcome: EvaluationOutcome::Granted,
        stage: Stage::Policy,
        wire_code: None,
        reason: None,
        evidence: None,
        peer: "spiffe://example/agent-server".into(),
        actor: Some("https://agent.example/#a".into()),
        actor_unauthenticated: false,
        message_id: Some("m-1".into()),
        context: Some("c-1".into()),
        message_digest: Digest::of("message"),
        protocol_hash: Some(format!("sha256:{}", Digest::of("protocol"))),
        intent_hash: Some(format!("sha256:{}", Digest::of("intent"))),
        shacl_report: None,
        root_principal: Some("https://alice.example/#me".into()),
        actions: vec![ActionReport {
            class: "https://schema.org/ReadAction".into(),
            action: "http://www.w3.org/ns/odrl/2/read".into(),
            target: "https://alice.example/notes/1".into(),
        }],
        holder: Some("https://agent.example/#a".into()),
        presentation_digest: Some(Digest::of("presentation")),
        chain: vec![hop.clone()],
        actor_chain: vec![HopReport { credential: None, authorizes: None, valid_until: None, ..hop }],
        attributes: vec![AttributeReport {
            operand: "purpose".into(),
            values: vec!["<https://example.org/purpose#backup>".into()],
            stated: true,
        }],
        obligations: BTreeSet::from([Obligation {
            action: "http://www.w3.org/ns/odrl/2/inform".into(),
            target: None,
            policy: "https://alice.example/policy/1".into(),
        }]),
        discharged: vec![
            ("http://www.w3.org/ns/odrl/2/inform".into(), None),
            ("http://www.w3.org/ns/odrl/2/delete".into(), Some("https://alice.example/notes/2".into())),
        ],
        not_after: Some("2026-05-01T12:05:00.000Z".into()),
        inputs: vec![InputReport {
            kind: "controller-document".into(),
            id: "https://alice.example/".into(),
            age_seconds: 12,
        }],
        marks: BTreeSet::from(["unbound".into()]),
        unjudged_parts: vec![UnjudgedPart { index: 2, content: "text".into() }],
        unjudged_nodes: vec!["_:c14n0".into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Phase;
    use serde_json::{Value, json};

    fn schema() -> Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.schema.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn valid(report: &Value) -> bool {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("report.schema.json", schema()).unwrap();
        let index = compiler.compile("report.schema.json", &mut schemas).unwrap();
        schemas.validate(report, index).is_ok()
    }

    fn report(body: ReportBody, outcome: DecisionOutcome) -> DecisionReportV1 {
        DecisionReportV1 {
            version: DecisionReportV1::VERSION.into(),
            body,
            envelope: ReportEnvelope {
                sequence: 1,
                stage_micros: BTreeMap::from([("admit".into(), 12)]),
                recorded: Some("2026-05-01T12:00:00.000000Z".into()),
                body_digest: Some(Digest::of("body")),
                reservation: Some(Digest::of("reservation")),
                evidence: Some(EvidenceDigests {
                    kept: true,
                    message: Digest::of("octets"),
                    request: Digest::of("request"),
                    configuration: Digest::of("manifest"),
                }),
                changes: vec![RowChange {
                    table: "counts".into(),
                    key: Digest::of("key"),
                    row: Some(Digest::of("row")),
                }],
                ..ReportEnvelope::unrecorded(uuid::Uuid::now_v7().to_string(), outcome)
            },
        }
    }

    fn refused_body() -> ReportBody {
        ReportBody {
            outcome: EvaluationOutcome::Refused,
            stage: Stage::Shape,
            wire_code: Some(WireCode::ValidationFailed),
            reason: Some(Reason::ShapeViolation),
            evidence: Some(Evidence {
                policy: Some("p".into()),
                hop: Some(0),
                phase: Some(Phase::Composition),
                credential: Some("c".into()),
                shape: Some("s".into()),
                path: Some("/parts/0".into()),
                constraint: Some("at least one".into()),
                seen: Some("0".into()),
                expected: Some("1".into()),
                detail: Some("d".into()),
            }),
            shacl_report: Some("[] a <http://www.w3.org/ns/shacl#ValidationReport> .".into()),
            ..example_body()
        }
    }

    fn refused_at_admission() -> DecisionReportV1 {
        let mut report = report(example_body(), DecisionOutcome::Refuse);
        report.envelope.reason = Some(Reason::DuplicateMessage);
        report.envelope.wire_code = Some(WireCode::AuthorizationFailed);
        report.envelope.earlier_decision = Some(uuid::Uuid::now_v7().to_string());
        report.envelope.redacted.push("/body/peer".into());
        report
    }

    /// One report of each kind.
    fn reports() -> Vec<DecisionReportV1> {
        let not_ours = ReportBody {
            outcome: EvaluationOutcome::NotOurs,
            stage: Stage::Admit,
            actor: None,
            message_id: None,
            context: None,
            protocol_hash: None,
            intent_hash: None,
            root_principal: None,
            holder: None,
            presentation_digest: None,
            not_after: None,
            ..example_body()
        };
        vec![
            report(example_body(), DecisionOutcome::Allow),
            report(refused_body(), DecisionOutcome::Refuse),
            report(not_ours, DecisionOutcome::NotOurs),
            refused_at_admission(),
        ]
    }

    #[test]
    fn reports_round_trip_and_are_valid() {
        for report in reports() {
            let octets = jcs(&report).unwrap();
            assert_eq!(serde_json::from_slice::<DecisionReportV1>(&octets).unwrap(), report);
            let value = serde_json::from_slice(&octets).unwrap();
            assert!(valid(&value), "{value:#}");
        }
    }

    #[test]
    fn a_body_is_written_in_jcs_form() {
        let body = example_body();
        let octets = body.to_jcs().unwrap();
        assert!(octets.starts_with(br#"{"actions":[{"action":"#));
        assert_eq!(serde_json::from_slice::<ReportBody>(&octets).unwrap().to_jcs().unwrap(), octets);
    }

    #[test]
    fn the_schema_is_closed() {
        let good = serde_json::to_value(report(refused_body(), DecisionOutcome::Refuse)).unwrap();
        for (pointer, value) in [
            ("/version", json!("DecisionReportV2")),
            ("/body/reason", json!("SOMETHING_ELSE")),
            ("/body/stage", json!("loading")),
            ("/body/wireCode", json!("something-else")),
            ("/body/outcome", json!("allow")),
            ("/body/messageDigest", json!("ABCD")),
            ("/body/instant", json!("yesterday")),
            ("/body/evidence/phase", json!("E")),
            ("/body/discharged/0", json!(["action"])),
            ("/envelope/outcome", json!("maybe")),
            ("/envelope/sequence", json!(0)),
            ("/envelope/decisionId", json!("1")),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            assert!(!valid(&bad), "{pointer}");
        }
        let objects = [
            "",
            "/body",
            "/body/evidence",
            "/body/chain/0",
            "/body/actions/0",
            "/body/attributes/0",
            "/envelope",
        ];
        for pointer in objects {
            let mut bad = good.clone();
            bad.pointer_mut(pointer).unwrap()["more"] = json!(1);
            assert!(!valid(&bad), "{pointer}");
            assert!(serde_json::from_value::<DecisionReportV1>(bad).is_err(), "{pointer}");
        }
        for pointer in ["/body/obligations/0", "/body/unjudgedParts/0"] {
            let mut bad = good.clone();
            bad.pointer_mut(pointer).unwrap()["more"] = json!(1);
            assert!(!valid(&bad), "{pointer}");
        }
    }

    #[test]
    fn outcomes_must_fit_together() {
        let contradictions = [
            report(refused_body(), DecisionOutcome::Allow),
            report(example_body(), DecisionOutcome::Refuse),
            report(example_body(), DecisionOutcome::NotOurs),
            report(ReportBody { reason: None, ..refused_body() }, DecisionOutcome::Refuse),
            report(ReportBody { reason: Some(Reason::Expired), ..example_body() }, DecisionOutcome::Allow),
            {
                let mut allowed = refused_at_admission();
                allowed.envelope.outcome = DecisionOutcome::Allow;
                allowed
            },
        ];
        for report in contradictions {
            assert!(!valid(&serde_json::to_value(&report).unwrap()), "{report:?}");
        }
    }

    #[test]
    fn the_schema_lists_every_word() {
        let schema = schema();
        let words = |name: &str| schema["$defs"][name]["enum"].clone();
        let reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(words("reason"), json!(reasons));
        assert_eq!(words("stage"), json!(Stage::PIPELINE));
        let mut wire: Vec<_> = Reason::ALL
            .iter()
            .flat_map(|reason| Stage::PIPELINE.map(|stage| reason.wire_code(stage)))
            .flatten()
            .collect();
        wire.sort_unstable();
        wire.dedup();
        assert_eq!(words("wireCode"), json!(wire));
    }

    #[test]
    fn a_counted_report_has_no_row() {
        let mut counted = report(refused_body(), DecisionOutcome::Refuse);
        let envelope = &mut counted.envelope;
        (envelope.sequence, envelope.recorded) = (0, None);
        envelope.counted_since = Some("2026-05-01T12:00:00Z".into());
        let good = serde_json::to_value(counted).unwrap();
        assert!(valid(&good));
        for (member, value) in [
            ("sequence", json!(1)),
            ("outcome", json!("allow")),
            ("recorded", json!("2026-05-01T12:00:00.000000Z")),
            ("countedSince", json!("2026-05-01T12:00:01Z")),
        ] {
            let mut bad = good.clone();
            bad["envelope"][member] = value;
            assert!(!valid(&bad), "{member}");
        }
    }

    /// Schema and type list the same members, each with a description, and no object is open.
    #[test]
    fn the_schema_describes_every_member() {
        let schema = schema();
        let body = serde_json::to_value(refused_body()).unwrap();
        let mut body = body.as_object().unwrap().clone();
        body.insert("notAfter".into(), json!(example_body().not_after));
        let mut envelope = refused_at_admission().envelope;
        envelope.counted_since = Some("2026-05-01T12:00:00Z".into());
        let envelope = serde_json::to_value(envelope).unwrap();
        let obligation = Obligation { action: "a".into(), target: Some("t".into()), policy: "p".into() };
        let examples = [
            ("evidence", body["evidence"].clone()),
            ("action", body["actions"][0].clone()),
            ("attribute", body["attributes"][0].clone()),
            ("hop", body["chain"][0].clone()),
            ("input", body["inputs"][0].clone()),
            ("unjudgedPart", body["unjudgedParts"][0].clone()),
            ("obligation", serde_json::to_value(obligation).unwrap()),
            ("envelope", envelope),
            ("body", Value::Object(body)),
        ];
        let described = |value: &Value| value["description"].as_str().is_some_and(|text| text.len() > 5);
        let mut objects = 0;
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            assert!(described(definition), "{name}");
            let Some(properties) = definition["properties"].as_object() else { continue };
            objects += 1;
            assert_eq!(definition["additionalProperties"], json!(false), "{name}");
            assert!(properties.values().all(described), "{name}");
            let (_, example) = examples.iter().find(|(of, _)| of == name).unwrap();
            let members: BTreeSet<_> = example.as_object().unwrap().keys().collect();
            assert_eq!(properties.keys().collect::<BTreeSet<_>>(), members, "{name}");
        }
        assert_eq!(objects, examples.len());
        assert!(schema["properties"].as_object().unwrap().values().all(described));
    }
}
