//! Stages 6 to 9: papers, chains and policies.

use super::{Cases, Made, Maker, set};
use crate::cli::Failure;
use crate::credential::issue::SigningKey;
use crate::refusal::{Reason, Stage};
use crate::worked_example::{
    ALICE, Ask, BOB, BOB_OWNER, Intent, IntentAction, MANDATE_POLICY, MandateDraft, NOTES, PolicyBinding,
};
use chrono::TimeDelta;
use serde_json::{Value, json};

impl Maker<'_> {
    // --- Stage 6 ----------------------------------------------------------------------------------------------------

    pub(super) fn presentation(&self) -> Cases {
        use Reason::{
            AuthorizationMissing, ChallengeMismatch, ChallengeUnknown, DomainMismatch, Expired,
            HolderUnverified, PresentationNotYetValid, PresentationTooOld,
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
        ])
    }

    /// Challenges that were issued, as the issuer judged them. None of these holds a tag: with the verdict recorded, nothing
    /// asks for one.
    pub(super) fn issued_challenges(&self) -> Cases {
        let token = format!("wgi1.{}", "x".repeat(75));
        let stage = Stage::Presentation;
        let mut ask = self.grant()?;
        ask.nonce.clone_from(&token);
        let mut bound = ask.clone();
        bound.bound = true;
        let until = |seconds| json!({ "until": self.now + TimeDelta::seconds(seconds) });
        let judged = |case: Made, verdict: Value| {
            case.fact("challenge", Value::Null)
                .moment("issued", json!({ "token": token, "verdict": verdict }))
        };
        let refused = |name, title, reason| self.refused(name, title, stage, reason, &ask);
        let genuine = json!({ "genuine": until(0) });
        Ok(vec![
            judged(
                self.granted(
                    "challenge-issued",
                    "the challenge was issued to this caller, and ends now",
                    &ask,
                )?,
                genuine.clone(),
            ),
            judged(
                self.granted("challenge-issued-bound", "the same, bound to this very message", &bound)?,
                genuine.clone(),
            )
            .fact("challenge", json!(token)),
            judged(
                refused("challenge-expired", "the challenge ended a second ago", Reason::ChallengeExpired)?,
                json!({ "genuine": until(-1) }),
            ),
            judged(
                refused(
                    "challenge-of-another",
                    "the challenge was issued to another caller",
                    Reason::ChallengeContextMismatch,
                )?,
                json!({ "of-another": until(60) }),
            ),
            judged(
                refused(
                    "challenge-of-another-expired",
                    "the challenge was issued to another caller, and has ended",
                    Reason::ChallengeExpired,
                )?,
                json!({ "of-another": until(-1) }),
            ),
            judged(
                refused("challenge-forged", "the challenge was never issued", Reason::ChallengeUnknown)?,
                json!("unknown"),
            ),
            refused(
                "challenge-issued-by-nobody",
                "a challenge that claims to be issued, where none is",
                Reason::ChallengeUnknown,
            )?
            .fact("challenge", json!(token)),
        ])
    }

    pub(super) fn papers(&self) -> Cases {
        use Reason::{
            InvalidSignature, LimitExceeded, Malformed, NoProof, ProofPurposeMismatch, RemoteContext,
            UnknownCryptosuite,
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
            edit(
                "mandate-undefined-member",
                "a member of the mandate that its signature cannot cover",
                Malformed,
                &|paper| {
                    set(paper.pointer_mut("/verifiableCredential/0"), "extra", json!("unsigned"));
                },
            )?,
            edit("too-many-credentials", "more credentials than are judged", LimitExceeded, &|paper| {
                let credential = paper.pointer("/verifiableCredential/0").cloned().unwrap_or_default();
                set(Some(paper), "verifiableCredential", Value::Array(vec![credential; 20]));
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

    pub(super) fn chain(&self) -> Cases {
        use Reason::{
            BindingMismatch, ChainMalformed, Expired, InvalidSignature, IssuerMismatch, NotYetValid,
            PolicyIntegrity, Revoked, StatusRetrievalError, SubjectIssuerMismatch,
        };
        let stage = Stage::Chain;
        let now = self.now;
        let mandated = |name, title, reason, change: &dyn Fn(&mut MandateDraft)| {
            self.refused(name, title, stage, reason, &self.mandated(change)?)
        };
        let tampered =
            self.tampered(|credential| set(Some(credential), "validUntil", json!("2046-01-01T00:00:00Z")))?;
        let unsigned = self.tampered(|credential| set(Some(credential), "proof", Value::Null))?;
        let mut altered = self.mandated(|draft| draft.binding = PolicyBinding::Digest)?;
        altered.policies =
            vec![(self.world.policy()?.replacen("odrl:read", "odrl:use ", 1), "text/turtle".to_owned())];
        let mut unbound = self.grant()?;
        unbound.policies = vec![(self.world.policy()?, "text/turtle".to_owned())];
        let mut twice = self.grant()?;
        let mut second = self.world.mandate_draft()?;
        second.id = "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000002".to_owned();
        twice.credentials.push(second.issue()?);
        let mut two_roots = self.grant()?;
        second.policy = second.policy.replace(MANDATE_POLICY, "https://alice.pod.example/policies/another");
        two_roots.credentials.push(second.issue()?);
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
                "two mandates of Alice's are no chain",
                stage,
                ChainMalformed,
                &two_roots,
            )?,
            self.refused(
                "one-policy-twice",
                "two credentials for one policy",
                stage,
                BindingMismatch,
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

    pub(super) fn policy(&self) -> Cases {
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
