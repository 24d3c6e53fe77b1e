//! `verify-credential-status`, `resolve-bound-policy` and `verify-presentation-replay`: one paper each.

use super::papers::{World, now, paper, read_credential, read_presentation, the_credential};
use super::{Folder, member, text};
use crate::cli::Failure;
use crate::credential::controller::KeySource;
use crate::credential::presentation::{check_expiry, check_key, check_naming, check_purpose};
use crate::credential::presentation_graph::Presentation;
use crate::credential::{Known, PaperError, binding};
use crate::mandate::chain::BindingForm;
use crate::mandate::chain::apart::Apart;
use crate::rdf::Budget;
use crate::refusal::Reason;
use crate::request::Instant;
use crate::vocab::sec;
use serde_json::{Value, json};

/// The first code of phase A alone, else one for each failing status entry.
pub(super) fn verify_credential_status(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let world = World::of(input, folder, now(input)?)?;
    let mut budget = Budget::new(world.config.limits());
    let codes = match the_credential(input, folder, &mut budget)? {
        Ok(credential) => apart(&world).status(&credential, &mut budget),
        Err(error) => vec![error.reason],
    };
    Ok(verdict("verified", &codes))
}

/// Form and digests only: no proof, no time, and the document is not read.
pub(super) fn resolve_bound_policy(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let world = World::of(input, folder, Instant::UNIX_EPOCH)?;
    let mut budget = Budget::new(world.config.limits());
    let form = paper(member(input, "credential")?, folder)?.and_then(|mut document| {
        if let Some(members) = document.as_object_mut() {
            members.remove("proof");
        }
        let credential = read_credential(&document, &mut budget)?;
        binding::form(&credential, &world.documents, world.config.limits(), &mut budget)
    });
    Ok(match form {
        Ok(form) => {
            let name = match form {
                BindingForm::Embedded => "embedded",
                BindingForm::Digest | BindingForm::Provisional => "reference",
            };
            json!({ "ok": true, "codes": [], "form": name })
        }
        Err(error) => verdict("ok", &[error.reason]),
    })
}

/// Codes in the operation's own order (`mandate.md` 10), which is not the pipeline's.
pub(super) fn verify_presentation_replay(input: &Value, folder: &Folder) -> Result<Value, Failure> {
    let world = World::of(input, folder, now(input)?)?;
    let document = match paper(member(input, "presentation")?, folder)? {
        Ok(document) => document,
        Err(error) => return Ok(verdict("verified", &[error.reason])),
    };
    let asked =
        Asked { challenge: text(input, "challenge")?, domain: input.get("domain").and_then(Value::as_str) };
    Ok(verdict("verified", &replay_codes(&document, &asked, &world)))
}

/// What the presentation must answer.
struct Asked<'a> {
    challenge: &'a str,
    domain: Option<&'a str>,
}

fn replay_codes(document: &Value, asked: &Asked<'_>, world: &World) -> Vec<Reason> {
    let mut budget = Budget::new(world.config.limits());
    let mut codes = credential_codes(document, world, &mut budget);
    let presentation = match read_presentation(document, &mut Budget::new(world.config.limits())) {
        Ok(presentation) => presentation,
        // A credential that cannot be read leaves no presentation to judge, and was named already.
        Err(error) if codes.is_empty() => return vec![error.reason],
        Err(_) => return codes,
    };
    let Some(holder) = presentation.holder.as_deref() else {
        codes.push(Reason::HolderUnverified);
        return codes;
    };
    let answers = |predicate, asked: Option<&str>| {
        let proofs = presentation.securing.proofs();
        // Missing counts as mismatch.
        !proofs.is_empty() && proofs.iter().all(|proof| proof.text(predicate).as_deref() == asked)
    };
    if !answers(sec::CHALLENGE, Some(asked.challenge)) {
        codes.push(Reason::ChallengeMismatch);
    }
    if !answers(sec::DOMAIN, asked.domain) {
        codes.push(Reason::DomainMismatch);
    }
    codes.extend(check_proof(&presentation, holder, world).err().map(|error| error.reason));
    if codes.is_empty() {
        codes.extend(check_naming(holder, &presentation.credentials).err().map(|error| error.reason));
    }
    codes
}

/// The first code of each embedded credential.
fn credential_codes(document: &Value, world: &World, budget: &mut Budget) -> Vec<Reason> {
    let papers = match document.get("verifiableCredential") {
        Some(Value::Array(papers)) => papers.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let judged = papers.iter().take(world.config.limits().credentials).map(|paper| {
        let credential = read_credential(paper, budget).map_err(|error| error.reason)?;
        apart(world).credential(&credential, &world.documents, budget)
    });
    judged.filter_map(Result::err).collect()
}

/// The first failure of the presentation's proof.
fn check_proof(presentation: &Presentation, holder: &str, world: &World) -> Result<(), PaperError> {
    let keys = KeySource {
        documents: &world.snapshot.controllers,
        now: world.snapshot.instant,
        max_age: world.config.max_controller_age,
    };
    let statement = presentation.securing.only_statement()?;
    check_purpose(statement, presentation.profile)?;
    check_key(statement, holder, presentation.profile, &keys, &Known::nothing())?;
    check_expiry(statement, keys.now)
}

fn apart(world: &World) -> Apart<'_> {
    Apart { snapshot: &world.snapshot, config: &world.config, status_unreachable: false }
}

fn verdict(member: &str, codes: &[Reason]) -> Value {
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    json!({ member: codes.is_empty(), "codes": words })
}
