//! Papers in a JWS (`vc+jwt`, `vp+jwt`).

use super::{Cases, Maker, set};
use crate::cli::Failure;
use crate::cli::vectors::make::Made;
use crate::credential::KeyType;
use crate::credential::issue::SigningKey;
use crate::refusal::{Reason, Stage};
use crate::worked_example::{ALICE, Ask, BOB, JwsDraft, MANDATE_POLICY, MandateDraft, NOTES, PolicyBinding};
use chrono::TimeDelta;
use serde_json::{Value, json};

impl Maker<'_> {
    /// The grant, its papers in JWSs.
    fn jose(&self, change: impl FnOnce(&mut MandateDraft)) -> Result<Ask, Failure> {
        let mut draft = self.world.mandate_draft()?;
        change(&mut draft);
        Ok(Ask { credentials: vec![draft.issue_jose()?], ..self.grant()? })
    }

    /// A grant that another holder of this key type may make, in JWSs.
    fn held(&self, key_type: KeyType, octets: &[u8]) -> Result<Ask, Failure> {
        let key = SigningKey::from_secret(key_type, octets)?;
        let policy = self.world.policy()?.replace(&self.world.agent_id(), &key.did_key());
        let ask = self.jose(|draft| {
            draft.authorizes = key.did_key();
            draft.policy = policy;
        })?;
        Ok(Ask { key, ..ask })
    }

    /// Alice mandates an organisation, whose key is of P-384, and it mandates the agent.
    fn jose_chain(&self) -> Result<Ask, Failure> {
        const PREFIXES: &str = "@prefix acl: <http://www.w3.org/ns/auth/acl#> .
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .
";
        let key = SigningKey::from_secret(KeyType::P384, &[13; 48])?;
        let (organisation, agent) = (key.did_key(), self.world.agent_id());
        let to_bob = format!(
            "odrl:permission [ odrl:action acl:Control ; odrl:target <{NOTES}> ; odrl:constraint [
        odrl:leftOperand odrl:recipient ; odrl:operator odrl:eq ; odrl:rightOperand <{BOB}> ] ]"
        );
        let root = MandateDraft {
            policy: format!(
                "{PREFIXES}<{MANDATE_POLICY}> a odrl:Agreement ; odrl:assigner <{ALICE}> ; odrl:assignee <{organisation}> ;
    {to_bob} ; odrl:permission [ odrl:action odrl:grantUse ; odrl:target <{NOTES}> ] ."
            ),
            authorizes: organisation.clone(),
            ..self.world.mandate_draft()?
        };
        let leaf = MandateDraft {
            id: "urn:uuid:7a3c5b0e-0d6f-4f0e-9b1a-000000000002".to_owned(),
            policy: format!(
                "{PREFIXES}<https://organisation.example/policies/to-agent> a odrl:Agreement ;
    odrl:assigner <{organisation}> ; odrl:assignee <{agent}> ; odrld:delegatedUnder <{MANDATE_POLICY}> ; {to_bob} ."
            ),
            key,
            ..self.world.mandate_draft()?
        };
        Ok(Ask { credentials: vec![root.issue_jose()?, leaf.issue_jose()?], ..self.grant()? })
    }

    pub(super) fn jose_granted(&self) -> Cases {
        let plain = self.jose(|_| ())?;
        let bound = Ask { bound: true, ..plain.clone() };
        let mut by_digest = self.jose(|draft| draft.binding = PolicyBinding::Digest)?;
        by_digest.policies = vec![(self.world.policy()?, "text/turtle".to_owned())];
        let p256 = self.held(KeyType::P256, &[12; 32])?;
        let p384 = self.held(KeyType::P384, &[12; 48])?;
        let held = |name, title, ask: &Ask| {
            Ok::<_, Failure>(self.granted(name, title, ask)?.fact("actor", json!(ask.key.did_key())))
        };
        Ok(vec![
            self.granted("jose", "presentation and mandate are each a JWS", &plain)?,
            self.granted("jose-bound", "the same, bound to this very message", &bound)?,
            held("jose-es256", "a holder whose key is of P-256", &p256)?,
            held("jose-es384", "a holder whose key is of P-384", &p384)?,
            self.granted(
                "jose-policy-by-digest",
                "a mandate in a JWS binds its policy by digest",
                &by_digest,
            )?,
            self.granted(
                "jose-chain",
                "two hops, each mandate in a JWS of its own algorithm",
                &self.jose_chain()?,
            )?,
        ])
    }

    pub(super) fn jose_presentation(&self) -> Cases {
        use Reason::{
            ChallengeMismatch, DomainMismatch, Expired, HolderUnverified, InvalidSignature, Malformed,
            PresentationNotYetValid, PresentationTooOld, UnknownCryptosuite,
        };
        let ask = self.jose(|_| ())?;
        let at = |seconds| json!((self.now + TimeDelta::seconds(seconds)).timestamp());
        let changed = |name: &str, title: &str, reason, change: &dyn Fn(&mut JwsDraft)| {
            let mut draft = ask.presentation_draft()?;
            change(&mut draft);
            let message = ask.with_presentation(Some(draft.compact()?.into()));
            self.refused_value(name, title, Stage::Presentation, reason, &message)
        };
        let mut cases = Vec::new();
        let headers = [
            ("none", "alg", json!("none"), UnknownCryptosuite),
            ("hmac", "alg", json!("HS256"), UnknownCryptosuite),
            ("other-key-type", "alg", json!("ES256"), InvalidSignature),
            ("crit", "crit", json!(["exp"]), Malformed),
            ("b64", "b64", json!(false), Malformed),
            ("jku", "jku", json!("https://mallory.example/keys"), Malformed),
            ("jwk", "jwk", json!({ "kty": "OKP", "crv": "Ed25519", "x": "AA" }), Malformed),
            ("x5c", "x5c", json!(["AA"]), Malformed),
            ("zip", "zip", json!("DEF"), Malformed),
            ("typ", "typ", json!("JWT"), Malformed),
            ("cty", "cty", json!("vc"), Malformed),
            ("kid-relative", "kid", json!("#key"), Malformed),
            ("kid-of-another", "kid", json!(self.world.mallory.did_key_method()), HolderUnverified),
        ];
        for (name, member, value, reason) in headers {
            cases.push(changed(
                &format!("jose-header-{name}"),
                &format!("a presentation whose header has another `{member}` than it may"),
                reason,
                &|draft| set(Some(&mut draft.header), member, value.clone()),
            )?);
        }
        let claims = [
            ("nonce", "nonce", json!("n-0000000000000000"), ChallengeMismatch),
            ("no-nonce", "nonce", Value::Null, ChallengeMismatch),
            ("aud", "aud", json!("https://bob.pod.example/agent"), DomainMismatch),
            ("aud-array", "aud", json!([ask.domain]), Malformed),
            ("iat", "iat", at(-3600), PresentationTooOld),
            ("no-iat", "iat", Value::Null, PresentationTooOld),
            ("iat-ahead", "iat", at(3600), PresentationNotYetValid),
            ("exp", "exp", at(0), Expired),
            ("no-exp", "exp", Value::Null, Malformed),
            ("iss", "iss", json!(ALICE), Malformed),
            ("jti", "jti", json!("urn:uuid:1"), Malformed),
            ("nbf", "nbf", at(-1), Malformed),
            ("vp", "vp", json!({}), Malformed),
        ];
        for (name, member, value, reason) in claims {
            cases.push(changed(
                &format!("jose-claim-{name}"),
                &format!("a presentation whose `{member}` is not what it must be"),
                reason,
                &|draft| set(Some(&mut draft.payload), member, value.clone()),
            )?);
        }
        let plain = self.world.mandate()?;
        cases.push(changed(
            "jose-mixed",
            "a mandate with a proof of its own in a presentation that is a JWS",
            Malformed,
            &|draft| set(Some(&mut draft.payload), "verifiableCredential", json!([plain])),
        )?);
        let envelopes = ask.presentation_draft()?.payload.get("verifiableCredential").cloned();
        let embedding =
            Ask { credentials: vec![envelopes.and_then(first).unwrap_or_default()], ..ask.clone() };
        let mut padded = ask.presentation()?.as_str().unwrap_or_default().to_owned();
        padded.push('=');
        cases.push(self.refused(
            "jose-enveloped",
            "a mandate in a JWS in a presentation with a proof of its own",
            Stage::Presentation,
            Malformed,
            &embedding,
        )?);
        cases.push(self.refused_value(
            "jose-padding",
            "a signature with padding",
            Stage::Presentation,
            InvalidSignature,
            &ask.with_presentation(Some(padded.into())),
        )?);
        Ok(cases)
    }

    pub(super) fn jose_chains(&self) -> Cases {
        use Reason::{Expired, InvalidSignature, IssuerMismatch, Malformed, NotYetValid, UnknownCryptosuite};
        let at = |seconds| json!((self.now + TimeDelta::seconds(seconds)).timestamp());
        let stranger = &self.world.mallory;
        let changed = |name, title, stage, reason, change: &dyn Fn(&mut JwsDraft)| {
            let mut draft = self.world.mandate_draft()?.jws()?;
            change(&mut draft);
            let ask = Ask { credentials: vec![draft.compact()?.into()], ..self.grant()? };
            self.refused(name, title, stage, reason, &ask)
        };
        let (form, chain) = (Stage::Presentation, Stage::Chain);
        let made: Vec<Result<Made, Failure>> = vec![
            changed(
                "jose-mandate-proof",
                "a mandate in a JWS with a proof beside",
                form,
                Malformed,
                &|draft| {
                    set(Some(&mut draft.payload), "proof", json!({}));
                },
            ),
            changed("jose-mandate-iss", "a mandate whose `iss` is another", form, Malformed, &|draft| {
                set(Some(&mut draft.payload), "iss", json!(BOB));
            }),
            changed("jose-mandate-sub", "a mandate whose `sub` is another", form, Malformed, &|draft| {
                set(Some(&mut draft.payload), "sub", json!(BOB));
            }),
            changed("jose-mandate-aud", "a mandate for an audience", form, Malformed, &|draft| {
                set(Some(&mut draft.payload), "aud", json!(ALICE));
            }),
            changed(
                "jose-mandate-typ",
                "a mandate that says it is a presentation",
                form,
                Malformed,
                &|draft| {
                    set(Some(&mut draft.header), "typ", json!("vp+jwt"));
                },
            ),
            changed(
                "jose-mandate-none",
                "a mandate that needs no key",
                chain,
                UnknownCryptosuite,
                &|draft| {
                    set(Some(&mut draft.header), "alg", json!("none"));
                },
            ),
            changed(
                "jose-mandate-kid",
                "a mandate by a stranger's method",
                chain,
                IssuerMismatch,
                &|draft| {
                    set(Some(&mut draft.header), "kid", json!(stranger.did_key_method()));
                    draft.key = stranger.clone();
                },
            ),
            changed(
                "jose-mandate-key",
                "Alice's method over a stranger's key",
                chain,
                InvalidSignature,
                &|draft| {
                    draft.key = stranger.clone();
                },
            ),
            changed("jose-mandate-exp", "a mandate whose `exp` has come", chain, Expired, &|draft| {
                set(Some(&mut draft.payload), "exp", at(0));
            }),
            changed("jose-mandate-nbf", "a mandate whose `nbf` is ahead", chain, NotYetValid, &|draft| {
                set(Some(&mut draft.payload), "nbf", at(1));
            }),
        ];
        made.into_iter().collect()
    }
}

fn first(value: Value) -> Option<Value> {
    value.as_array()?.first().cloned()
}
