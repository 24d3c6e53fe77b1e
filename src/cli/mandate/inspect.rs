//! `writgate mandate inspect`: who delegates what to whom, as the papers say it. It verifies nothing.

use super::papers::{self, Paper, PaperFile};
use crate::audit::instant_text;
use crate::cli::{Exit, Failure, Outcome, output};
use crate::config::PolicyStore;
use crate::credential::credential::PolicyClaim;
use crate::credential::data_integrity::{Proof, Statement};
use crate::credential::securing::Securing;
use crate::credential::{Credential, Known, PaperError, binding};
use crate::limits::Limits;
use crate::mandate::odrl::{PolicyOutline, RuleOutline};
use crate::message::RdfPart;
use crate::rdf::Budget;
use crate::vocab::sec;
use oxrdf::{NamedNodeRef, NamedOrBlankNode, TermRef};
use serde::Serialize;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Credentials and presentations, in any order
    #[arg(required = true)]
    papers: Vec<PathBuf>,
    /// A policy document that a credential refers to; may be repeated
    #[arg(long)]
    policy: Vec<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

const NOTE: &str = "Nothing here is verified: no signature, key, date or status was checked.";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let files = papers::read(&arguments.papers, true)?;
    let parts = papers::policies(&arguments.policy)?;
    let picture = Picture::of(&files, &parts);
    let text = match arguments.json {
        true => output::json(&picture)?,
        false => picture.drawn(),
    };
    output::say(format_args!("{text}"));
    // A chain that is broken is drawn; where nothing could be read, nothing was.
    match picture.hops.is_empty() && picture.presentations.is_empty() {
        true => Err(Failure::new("nothing of what was given is a credential or a presentation")),
        false => Ok(Exit::Success),
    }
}

/// Everything that the papers say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Picture {
    verified: bool,
    note: &'static str,
    presentations: Vec<PresentationSeen>,
    hops: Vec<HopSeen>,
    /// What is wrong with the papers as a whole.
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PresentationSeen {
    file: String,
    holder: Option<String>,
    proofs: Vec<ProofSeen>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HopSeen {
    file: String,
    credential: Option<String>,
    issuer: String,
    /// Where it is not the issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    authorizes: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    actions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<String>,
    valid_from: Option<String>,
    valid_until: Option<String>,
    status: Vec<StatusSeen>,
    proofs: Vec<ProofSeen>,
    policy_id: Option<String>,
    binding: String,
    policy: Option<PolicyOutline>,
    /// The place of the hop that this one is delegated under.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    /// What is wrong with its place in the chain.
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusSeen {
    purpose: String,
    list: String,
    index: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProofSeen {
    suite: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    challenge: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
}

impl Picture {
    fn of(files: &[PaperFile], parts: &[RdfPart]) -> Self {
        let (mut presentations, mut hops, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for file in files {
            match &file.paper {
                Ok(Paper::Presentation(presentation)) => presentations.push(PresentationSeen {
                    file: file.name.clone(),
                    holder: presentation.holder.clone(),
                    proofs: ProofSeen::all(&presentation.securing),
                }),
                Ok(Paper::Credential(_)) => {}
                Err(error) => problems.push(format!("{} cannot be read: {}", file.name, in_words(error))),
            }
            for error in file.loose.iter().filter_map(|credential| credential.as_ref().err()) {
                problems.push(format!("a credential in {} cannot be read: {}", file.name, in_words(error)));
            }
            hops.extend(
                file.credentials().into_iter().map(|credential| HopSeen::of(&file.name, credential, parts)),
            );
        }
        let mut picture = Self { verified: false, note: NOTE, presentations, hops, problems };
        picture.arrange();
        picture
    }

    /// Puts each hop under its parent, and says where it has none, or shares it.
    fn arrange(&mut self) {
        let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
        for (place, hop) in self.hops.iter_mut().enumerate() {
            let Some(id) = hop.policy_id.clone() else { continue };
            match by_id.entry(id) {
                Entry::Vacant(free) => {
                    free.insert(place);
                }
                Entry::Occupied(_) => {
                    hop.problems.push("another credential is for the same policy".to_owned());
                }
            }
        }
        let mut children: BTreeMap<usize, usize> = BTreeMap::new();
        for hop in &mut self.hops {
            let Some(under) = hop.policy.as_ref().and_then(|policy| policy.delegated_under.as_deref()) else {
                continue;
            };
            hop.parent = by_id.get(under).copied();
            match hop.parent {
                Some(parent) => *children.entry(parent).or_default() += 1,
                None => hop.problems.push(format!("its parent {under} is missing")),
            }
        }
        for (parent, count) in children {
            if let Some(hop) = self.hops.get_mut(parent).filter(|_| count > 1) {
                hop.problems.push(format!("a branch: {count} policies are delegated under this one"));
            }
        }
        let roots = self.hops.iter().filter(|hop| hop.parent.is_none()).count();
        if roots > 1 {
            self.problems.push(format!("{roots} hops stand under no other: one chain has one root"));
        }
        if let Some(hop) = (0..self.hops.len()).find(|place| self.is_in_cycle(*place))
            && let Some(hop) = self.hops.get_mut(hop)
        {
            hop.problems.push("a cycle: it is delegated under itself, by way of what follows".to_owned());
        }
    }

    fn is_in_cycle(&self, start: usize) -> bool {
        let mut at = start;
        for _ in 0..self.hops.len() {
            match self.hops.get(at).and_then(|hop| hop.parent) {
                Some(parent) if parent == start => return true,
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    /// The tree, every text of a paper escaped.
    fn drawn(&self) -> String {
        let mut text = format!("{}\n", self.note);
        for presentation in &self.presentations {
            let holder = presentation.holder.as_deref().unwrap_or("nobody");
            let _ = write!(
                text,
                "\n{} presents {}",
                output::escaped(holder),
                output::escaped(&presentation.file)
            );
            for proof in &presentation.proofs {
                let _ = write!(text, "\n  {}", output::escaped(&proof.in_words()));
            }
            text.push('\n');
        }
        text.push('\n');
        let mut drawn = BTreeSet::new();
        let roots = (0..self.hops.len())
            .filter(|place| self.hops.get(*place).is_some_and(|hop| hop.parent.is_none()));
        for root in roots {
            self.draw(root, "", "", &mut drawn, &mut text);
        }
        // What is left stands under itself.
        for place in 0..self.hops.len() {
            if self.is_in_cycle(place) && !drawn.contains(&place) {
                self.draw(place, "", "", &mut drawn, &mut text);
            }
        }
        for problem in &self.problems {
            let _ = writeln!(text, "! {}", output::escaped(problem));
        }
        text.trim_end().to_owned()
    }

    fn draw(&self, place: usize, lead: &str, below: &str, drawn: &mut BTreeSet<usize>, text: &mut String) {
        let Some(hop) = self.hops.get(place) else { return };
        if !drawn.insert(place) {
            let _ = writeln!(text, "{lead}(back to {})", output::escaped(&hop.issuer));
            return;
        }
        let delegate = hop.authorizes.as_deref().unwrap_or("nobody");
        let _ =
            writeln!(text, "{lead}{} mandates {}", output::escaped(&hop.issuer), output::escaped(delegate));
        let children: Vec<usize> = (0..self.hops.len())
            .filter(|child| self.hops.get(*child).is_some_and(|hop| hop.parent == Some(place)))
            .collect();
        let bar = if children.is_empty() { "   " } else { "│  " };
        for line in hop.lines() {
            let _ = writeln!(text, "{below}{bar}{}", output::escaped(&line));
        }
        let last = children.len().saturating_sub(1);
        for (number, child) in children.into_iter().enumerate() {
            let (lead, next) = if number == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.draw(child, &format!("{below}{lead}"), &format!("{below}{next}"), drawn, text);
        }
    }
}

fn in_words(error: &PaperError) -> String {
    format!("{}: {}", error.reason.as_str(), error.evidence.detail.as_deref().unwrap_or_default())
}

impl HopSeen {
    fn of(file: &str, credential: &Credential, parts: &[RdfPart]) -> Self {
        let limits = Limits::default();
        let store = PolicyStore::default();
        let bound = binding::resolve(
            credential,
            parts,
            &store,
            false,
            &limits,
            &mut Budget::new(&limits),
            &Known::nothing(),
        );
        let (binding, policy) = match bound {
            Ok(bound) => match bound.policy {
                Ok(policy) => (bound.form.as_str().to_owned(), Some(policy)),
                Err(error) => (format!("{}, but {error}", bound.form.as_str()), None),
            },
            Err(error) => {
                let why = error.evidence.detail.unwrap_or_default();
                (format!("its content is not here ({why}); name it with --policy"), None)
            }
        };
        let claimed = match &credential.policy {
            Some(PolicyClaim::Reference(iri)) => Some(iri.clone()),
            Some(PolicyClaim::Embedded(NamedOrBlankNode::NamedNode(iri))) => Some(iri.as_str().to_owned()),
            _ => None,
        };
        Self {
            file: file.to_owned(),
            credential: credential.id.clone(),
            issuer: credential.issuer.clone(),
            subject: credential.subject.clone().filter(|subject| *subject != credential.issuer),
            authorizes: credential.authorizes.clone(),
            actions: credential.actions.clone(),
            targets: credential.targets.clone(),
            valid_from: credential.valid_from.map(instant_text),
            valid_until: credential.valid_until.map(instant_text),
            status: credential
                .status
                .iter()
                .map(|entry| StatusSeen {
                    purpose: entry.purpose.join(", "),
                    list: entry.list.join(", "),
                    index: entry.index.join(", "),
                })
                .collect(),
            proofs: ProofSeen::all(&credential.securing),
            policy_id: policy.as_ref().map(|policy| policy.id().to_owned()).or(claimed),
            binding,
            policy: policy.map(|policy| policy.outline()),
            parent: None,
            problems: Vec::new(),
        }
    }

    /// What stands below its first line.
    fn lines(&self) -> Vec<String> {
        let or = |value: &Option<String>, other: &str| value.clone().unwrap_or_else(|| other.to_owned());
        let mut lines: Vec<String> = self.problems.iter().map(|problem| format!("! {problem}")).collect();
        lines.push(format!(
            "from {} until {}",
            or(&self.valid_from, "any time"),
            or(&self.valid_until, "any time (it does not say when it ends)")
        ));
        if let Some(subject) = &self.subject {
            lines.push(format!("! its subject is {subject}, who is not its issuer"));
        }
        if !self.actions.is_empty() {
            lines.push(format!("only for {}", self.actions.join(", ")));
        }
        if !self.targets.is_empty() {
            lines.push(format!("only on {}", self.targets.join(", ")));
        }
        match &self.policy {
            Some(policy) => lines.extend(policy_lines(policy)),
            None => lines.push("! what it permits is not known here".to_owned()),
        }
        lines.push(format!("policy {}: {}", or(&self.policy_id, "(without an id)"), self.binding));
        lines.push(format!("credential {}", or(&self.credential, "(without an id)")));
        for entry in &self.status {
            lines.push(format!("status: {} at {} of {}", entry.purpose, entry.index, entry.list));
        }
        match self.proofs.is_empty() {
            true => lines.push("! no proof".to_owned()),
            false => lines.extend(self.proofs.iter().map(ProofSeen::in_words)),
        }
        lines
    }
}

fn policy_lines(policy: &PolicyOutline) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(why) = &policy.unusable {
        lines.push(format!("! the policy denies everything: {why}"));
    }
    if policy.permissions.is_empty() {
        lines.push("it permits nothing".to_owned());
    }
    lines.extend(policy.permissions.iter().map(|rule| rule_line("may", rule, policy)));
    lines.extend(policy.prohibitions.iter().map(|rule| rule_line("must not", rule, policy)));
    lines.extend(policy.obligations.iter().map(|duty| format!("always owes {duty}")));
    lines
}

fn rule_line(verb: &str, rule: &RuleOutline, policy: &PolicyOutline) -> String {
    let join = |names: &[String], none: &str| match names.is_empty() {
        true => none.to_owned(),
        false => names.join(", "),
    };
    let mut line = format!("{verb} {}", join(&rule.actions, "do something that it does not name"));
    let _ = write!(line, " on {}", join(&rule.targets, "everything"));
    let own = policy.assignee.as_slice();
    if rule.assignees != own {
        let _ = write!(line, " (said to {})", join(&rule.assignees, "everybody"));
    }
    if let Some(depth) = &rule.passes_on {
        let _ = write!(line, "; this lets it delegate, {depth}");
    }
    // How deep it reaches was said.
    let said = |constraint: &&String| {
        rule.passes_on.as_ref().is_none_or(|depth| !depth.contains(constraint.as_str()))
    };
    let constraints: Vec<&str> = rule.constraints.iter().filter(said).map(String::as_str).collect();
    if !constraints.is_empty() {
        let _ = write!(line, ", where {}", constraints.join(" and "));
    }
    if !rule.duties.is_empty() {
        let _ = write!(line, "; owes {}", rule.duties.join(", "));
    }
    if let Some(why) = &rule.undetermined {
        let _ = write!(line, "; ! it cannot be judged: {why}");
    }
    line
}

impl ProofSeen {
    fn all(securing: &Securing) -> Vec<Self> {
        match securing {
            Securing::DataIntegrity(proofs) => proofs.iter().map(Self::of_proof).collect(),
            Securing::Jose(jws) => {
                let algorithm = jws.statement.as_ref().and_then(Statement::algorithm);
                let kind = algorithm.unwrap_or("of an algorithm that is not accepted");
                vec![Self::of(format!("JWS {kind}"), jws.statement.as_ref())]
            }
        }
    }

    fn of_proof(proof: &Proof) -> Self {
        let suite = proof.options.triples_for_predicate(NamedNodeRef::new_unchecked(sec::CRYPTOSUITE)).next();
        let suite = suite.and_then(|triple| match triple.object {
            TermRef::Literal(name) => Some(name.value().to_owned()),
            _ => None,
        });
        let suite = suite.unwrap_or_else(|| "a kind that is not read here".to_owned());
        Self::of(suite, proof.statement.as_ref())
    }

    fn of(suite: String, statement: Option<&Statement>) -> Self {
        let instant = |instant: Option<crate::request::Instant>| instant.map(instant_text);
        Self {
            suite,
            key: statement.map(|statement| statement.verification_method.clone()),
            purpose: statement.map(|statement| statement.purpose.clone()),
            created: instant(statement.and_then(|statement| statement.created)),
            expires: instant(statement.and_then(|statement| statement.expires)),
            challenge: statement.and_then(|statement| statement.challenge.clone()),
            domain: statement.and_then(|statement| statement.domain.clone()),
        }
    }

    fn in_words(&self) -> String {
        let parts = [
            ("by", &self.key),
            ("for", &self.purpose),
            ("made", &self.created),
            ("until", &self.expires),
            ("answers", &self.challenge),
            ("in", &self.domain),
        ];
        parts.into_iter().fold(format!("proof {}", self.suite), |mut words, (label, value)| {
            if let Some(value) = value {
                let _ = write!(words, ", {label} {value}");
            }
            words
        })
    }
}
