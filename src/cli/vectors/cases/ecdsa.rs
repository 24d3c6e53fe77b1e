//! Papers of keys of P-256 and P-384, by the suite `ecdsa-rdfc-2019`.

use super::{Cases, Maker, set};
use crate::cli::Failure;
use crate::credential::issue::SigningKey;
use crate::credential::key::{decode_base58btc, encode_base58btc};
use crate::refusal::{Reason, Stage};
use crate::worked_example::Ask;
use serde_json::{Value, json};

impl Maker<'_> {
    /// The grant by another agent of Alice's, with her mandate by one of her keys.
    fn grant_by(&self, issuer: &SigningKey, agent: &SigningKey) -> Result<Ask, Failure> {
        let mut ask = self.grant()?;
        ask.credentials = vec![self.world.mandate_draft_for(issuer, agent)?.issue()?];
        ask.key = agent.clone();
        Ok(ask)
    }

    pub(super) fn ecdsa(&self) -> Cases {
        let [p256, p384] = &self.world.agent_ec;
        let [alice_p256, alice_p384] = &self.world.alice_ec;
        let granted = |name, title, issuer, agent: &SigningKey| {
            let case = self.granted(name, title, &self.grant_by(issuer, agent)?)?;
            Ok::<_, Failure>(case.fact("actor", json!(agent.controller())))
        };
        // The presentation by `agent`, its proof changed without a new signature.
        let edited = |name, title, agent: &SigningKey, edit: &dyn Fn(&mut Value)| {
            let ask = self.grant_by(alice_p256, agent)?;
            let mut presentation = ask.presentation()?;
            if let Some(proof) = presentation.get_mut("proof") {
                edit(proof);
            }
            let message = ask.with_presentation(Some(presentation));
            let case =
                self.refused_value(name, title, Stage::Presentation, Reason::InvalidSignature, &message)?;
            Ok::<_, Failure>(case.fact("actor", json!(agent.controller())))
        };
        let resigned = |edit: &'static dyn Fn(&[u8]) -> Vec<u8>| {
            move |proof: &mut Value| {
                let value = proof.get("proofValue").and_then(Value::as_str).unwrap_or_default();
                let signature = decode_base58btc(value, 200).unwrap_or_default();
                set(Some(proof), "proofValue", encode_base58btc(&edit(&signature)).into());
            }
        };
        Ok(vec![
            granted("p256", "mandate and presentation by keys of P-256", alice_p256, p256)?,
            granted("p384", "mandate and presentation by keys of P-384", alice_p384, p384)?,
            granted(
                "key-types-mixed",
                "an Ed25519 mandate, presented by a key of P-384",
                &self.world.alice,
                p384,
            )?,
            self.proof_set()?,
            edited("suite-of-another-key", "a key of P-256 under the suite of Ed25519", p256, &|proof| {
                set(Some(proof), "cryptosuite", json!("eddsa-rdfc-2022"));
            })?,
            edited(
                "ecdsa-r-zero",
                "a signature whose r is zero",
                p256,
                &resigned(&|signature| {
                    let (r, s) = signature.split_at(signature.len() / 2);
                    [&vec![0; r.len()], s].concat()
                }),
            )?,
            edited(
                "ecdsa-s-zero",
                "a signature whose s is zero",
                p384,
                &resigned(&|signature| {
                    let (r, s) = signature.split_at(signature.len() / 2);
                    [r, &vec![0; s.len()]].concat()
                }),
            )?,
            edited(
                "ecdsa-r-above-the-order",
                "a signature whose r is above the curve's order",
                p384,
                &resigned(&|signature| {
                    let (r, s) = signature.split_at(signature.len() / 2);
                    [&vec![0xff; r.len()], s].concat()
                }),
            )?,
            edited(
                "ecdsa-s-above-the-order",
                "a signature whose s is above the curve's order",
                p256,
                &resigned(&|signature| {
                    let (r, s) = signature.split_at(signature.len() / 2);
                    [r, &vec![0xff; s.len()]].concat()
                }),
            )?,
            edited("ecdsa-der", "a signature in DER, not r then s", p256, &resigned(&der))?,
            edited(
                "ecdsa-length-of-another-curve",
                "a signature of P-256's length by a key of P-384",
                p384,
                &resigned(&|signature| signature.iter().take(64).copied().collect()),
            )?,
        ])
    }

    /// A mandate with a proof by each of Alice's keys.
    fn proof_set(&self) -> Result<super::Made, Failure> {
        let mut ask = self.grant()?;
        let mut credential = self.world.mandate()?;
        let mut proofs = vec![credential.get("proof").cloned().unwrap_or_default()];
        for key in &self.world.alice_ec {
            proofs.push(self.world.further_proof(&credential, key, self.now)?);
        }
        set(Some(&mut credential), "proof", json!(proofs));
        ask.credentials = vec![credential];
        self.granted("proof-set", "a mandate with a proof by each of Alice's keys, of all three types", &ask)
    }
}

/// r and s as two INTEGERs in a SEQUENCE (SEC 1 C.5), each with the octet that keeps it positive where it needs one.
fn der(signature: &[u8]) -> Vec<u8> {
    let integer = |octets: &[u8]| {
        let mut number: Vec<u8> = octets.iter().copied().skip_while(|octet| *octet == 0).collect();
        if number.first().is_none_or(|first| *first >= 0x80) {
            number.insert(0, 0);
        }
        let length = u8::try_from(number.len()).unwrap_or(u8::MAX);
        [&[2, length], number.as_slice()].concat()
    };
    let (r, s) = signature.split_at(signature.len() / 2);
    let body = [integer(r), integer(s)].concat();
    [&[0x30, u8::try_from(body.len()).unwrap_or(u8::MAX)], body.as_slice()].concat()
}
