//! `writgate mandate verify`: a chain judged without a message, by the engine's own stages.

use super::papers::{self, Paper, PaperFile};
use crate::audit::{HopReport, hop_report, instant_text};
use crate::cli::{Exit, Failure, Outcome, output};
use crate::config::{Config, ConfigBuilder, RootPrincipals, controllers_of_folder};
use crate::credential::{Credential, PaperError};
use crate::decision::Obligation;
use crate::engine::{Engine, SystemClock};
use crate::explain::Explanation;
use crate::ledger::SqliteLedger;
use crate::mandate::VerifiedChain;
use crate::mandate::chain::apart::Apart;
use crate::mandate::odrl::{PolicyGrant, action_of_name, before_any_request, term_of_text};
use crate::message::action::ActionUnderTest;
use crate::message::target::is_normal;
use crate::message::{ActionsUnderTest, RdfPart};
use crate::protocol::conversation::{ConversationKey, Role};
use crate::rdf::Budget;
use crate::refusal::{Evidence, Phase, Reason, Refusal, Stage};
use crate::request::{Actor, CallerFacts, Instant, MessageInput, Peer, Request, Snapshot};
use oxrdf::Term;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Credentials and presentations of one chain (or of two, the second the actor's), in any order
    #[arg(required = true)]
    papers: Vec<PathBuf>,
    /// The server's configuration: its roots, controller documents, status lists, policies, limits and ledger
    #[arg(long, conflicts_with_all = ["root", "controllers"])]
    config: Option<PathBuf>,
    /// The principal that the chain must start with, in place of a configuration
    #[arg(long)]
    root: Option<String>,
    /// A folder of controller documents
    #[arg(long, requires = "root")]
    controllers: Option<PathBuf>,
    /// A policy document that a credential refers to; may be repeated
    #[arg(long)]
    policy: Vec<PathBuf>,
    /// Judge it at this instant (RFC 3339); now if absent
    #[arg(long, alias = "at", value_parser = output::instant)]
    now: Option<Instant>,
    /// Ask the policies too: the action, as an IRI or a short name
    #[arg(long, requires = "target")]
    action: Option<String>,
    /// The target of the action
    #[arg(long, requires = "action")]
    target: Option<String>,
    /// An attribute of what is asked, as `purpose=https://x.example/p`; may be repeated
    #[arg(long, requires = "action", value_parser = attribute)]
    attribute: Vec<(String, Term)>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// `name=value`; the value as in a constraint of `mandate attenuate`.
fn attribute(text: &str) -> Result<(String, Term), &'static str> {
    let (name, value) = text.split_once('=').ok_or("an attribute is name=value")?;
    match name {
        "" => return Err("the attribute has no name"),
        // The evaluator has these from elsewhere, and would take no notice.
        "count" => return Err("a count is the ledger's (--config), and without one that of a first use"),
        "dateTime" => return Err("--at names the instant"),
        "delegationDepth" => return Err("the chain has the depth that it has"),
        _ => {}
    }
    Ok((name.to_owned(), term_of_text(value)?))
}

/// What was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    holds: bool,
    at: String,
    root_principal: String,
    phases: Vec<PhaseVerdict>,
    /// The primary chain, root first; empty where a phase before D refused.
    hops: Vec<HopReport>,
    actor_hops: Vec<HopReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    obligations: BTreeSet<Obligation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<RefusalSeen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
    note: &'static str,
}

#[derive(Debug, Serialize)]
struct PhaseVerdict {
    phase: Phase,
    outcome: &'static str,
}

#[derive(Debug, Serialize)]
struct RefusalSeen {
    reason: Reason,
    evidence: Evidence,
}

const UNASKED: &str = "The policies were not asked about anything (--action, --target): a chain that holds may still permit nothing.";
const ASKED: &str = "No message was judged: neither a presentation's proof, challenge and domain, nor an intent; a count is the ledger's of --config, else that of a first use.";

/// A configuration, what is known at the instant, and the policies beside the papers.
struct Inputs {
    config: Config,
    snapshot: Snapshot,
    parts: Vec<RdfPart>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let at = arguments.now.unwrap_or_else(chrono::Utc::now);
    let (config, snapshot) = match (&arguments.config, &arguments.root) {
        (Some(path), _) => configured(path, at)?,
        (None, Some(root)) => of_root(root, arguments, at)?,
        (None, None) => {
            return Err(Failure::new(
                "whose chain? --root names the owner with whom it must start, or --config a server's configuration",
            ));
        }
    };
    let files = papers::read(&arguments.papers, config.context_free)?;
    let inputs = Inputs { parts: papers::policies(&arguments.policy)?, config, snapshot };
    let verdict = inputs.judge(arguments, &files);
    let text = match arguments.json {
        true => output::json(&verdict)?,
        false => verdict.in_words(),
    };
    output::say(format_args!("{text}"));
    Ok(if verdict.holds { Exit::Success } else { Exit::Refused })
}

/// The configuration and what its ledger remembers, where there is one.
fn configured(path: &std::path::Path, at: Instant) -> Result<(Config, Snapshot), Failure> {
    let file = output::read_config(path)?;
    let config = file.load(at)?;
    let ledger_path = file.ledger_path();
    let ledger = match ledger_path.exists() {
        true => crate::cli::ledger::open(&file, config.default_domain(), config.skew())?,
        false => SqliteLedger::in_memory(config.default_domain(), at, config.skew())?,
    };
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
    let snapshot = engine.snapshot_of(&nobody(), at)?;
    engine.checkpoint()?;
    Ok((engine.config().clone(), snapshot))
}

/// One root, keys that certify themselves and those of a folder, and nothing else.
fn of_root(root: &str, arguments: &Arguments, at: Instant) -> Result<(Config, Snapshot), Failure> {
    let mut roots = RootPrincipals::default();
    if !crate::message::target::is_iri(root) {
        let problem =
            format!("--root {root}: the owner is named by an IRI, as in `[[roots]]` of a configuration");
        return Err(Failure::new(problem));
    }
    roots.add(NOWHERE, root)?;
    let mut builder = ConfigBuilder::new(NOWHERE, roots);
    if let Some(folder) = &arguments.controllers {
        builder = builder.with_controllers(controllers_of_folder(folder, at)?);
    }
    let config = builder.build()?;
    let ledger = SqliteLedger::in_memory(config.default_domain(), at, config.skew())?;
    let engine = Engine::new(config, Arc::new(ledger), Arc::new(SystemClock))?;
    let snapshot = engine.snapshot_of(&nobody(), at)?;
    Ok((engine.config().clone(), snapshot))
}

/// No message is judged, so there is no conversation.
fn nobody() -> ConversationKey {
    ConversationKey { role: Role::Agent, peer: Peer::Unauthenticated, context: None }
}

/// Nothing is owned here, and nobody asks here: the root is given.
const NOWHERE: &str = "https://writgate.invalid/";

impl Inputs {
    fn judge(&self, arguments: &Arguments, files: &[PaperFile]) -> Verdict {
        let credentials: Vec<Arc<Credential>> =
            files.iter().flat_map(PaperFile::credentials).cloned().collect();
        let root = match &arguments.root {
            Some(root) => root.clone(),
            None => self.root(arguments, &credentials),
        };
        let asked = arguments.action.as_ref().zip(arguments.target.as_ref());
        let mut verdict = Verdict {
            holds: false,
            at: instant_text(self.snapshot.instant),
            root_principal: root.clone(),
            phases: Vec::new(),
            hops: Vec::new(),
            actor_hops: Vec::new(),
            not_after: None,
            asked: asked.map(|(action, target)| format!("{action} on {target}")),
            obligations: BTreeSet::new(),
            refusal: None,
            explanation: None,
            note: if asked.is_some() { ASKED } else { UNASKED },
        };
        let askable = asked.map_or(Ok(()), |(_, target)| self.can_be_asked(arguments, target));
        let judged = askable.and_then(|()| self.chain(&root, files, &credentials)).and_then(|chain| {
            verdict.hops = chain.hops().iter().map(hop_report).collect();
            verdict.actor_hops = chain.actor_hops().iter().map(hop_report).collect();
            let until = chain.not_after();
            verdict.not_after = (until < Instant::MAX_UTC).then(|| instant_text(until));
            self.unasked(&chain)?;
            let Some((action, target)) = asked else { return Ok(()) };
            let asked = Asked::new(
                &chain,
                self,
                holders(files).next(),
                &root,
                (action, target),
                &arguments.attribute,
            );
            let grant = asked.grant(self, &chain).inspect_err(|_| {
                verdict.explanation = asked.explanation(self, &chain);
            })?;
            verdict.obligations.clone_from(grant.obligations());
            let until = until.min(grant.not_after());
            verdict.not_after = (until < Instant::MAX_UTC).then(|| instant_text(until));
            self.can_be_kept(arguments, &grant)
        });
        verdict.conclude(judged.err());
        verdict
    }

    /// The owner of the target; without one, the principal among the configured ones with whom the chain starts, else
    /// the first of them.
    fn root(&self, arguments: &Arguments, credentials: &[Arc<Credential>]) -> String {
        let owner = arguments.target.as_deref().and_then(|target| self.config.roots.owner(target));
        let principals = self.config.roots.principals();
        let issuer = credentials.iter().map(|credential| credential.issuer.as_str()).find(|issuer| {
            let delegates = credentials.iter().filter_map(|credential| credential.authorizes.as_deref());
            principals.contains(issuer) && !delegates.into_iter().any(|delegate| delegate == *issuer)
        });
        let issuer = issuer.or_else(|| principals.first().copied());
        owner.or(issuer).unwrap_or_default().to_owned()
    }

    /// Admission comes after the phases: a server permits nothing with a duty that it does not keep.
    fn can_be_kept(&self, arguments: &Arguments, grant: &PolicyGrant) -> Result<(), Refusal> {
        let kept = &self.config.obligations;
        match grant.obligations().iter().find(|duty| !kept.contains(&duty.action)) {
            Some(duty) if arguments.root.is_none() => {
                Err(Refusal::new(Stage::Admission, Reason::ObligationUnsupported).with(|evidence| {
                    evidence.policy = Some(duty.policy.clone());
                    evidence.seen = Some(duty.action.clone());
                }))
            }
            _ => Ok(()),
        }
    }

    /// What every message must ask for: a target in normal form, which somebody owns.
    fn can_be_asked(&self, arguments: &Arguments, target: &str) -> Result<(), Refusal> {
        let refuse = |reason, detail: &str| {
            Err(Refusal::new(Stage::Action, reason).detail(detail).with(|evidence| {
                evidence.seen = Some(target.to_owned());
            }))
        };
        if !is_normal(target) {
            return refuse(Reason::TargetNotNormal, "not the normal form of RFC 3986 6.2.2");
        }
        // A root that is given by hand owns whatever is asked for.
        if arguments.root.is_none() && self.config.roots.owner(target).is_none() {
            return refuse(Reason::NoRootForTarget, "no configured root covers it");
        }
        Ok(())
    }

    fn chain(
        &self,
        root: &str,
        files: &[PaperFile],
        credentials: &[Arc<Credential>],
    ) -> Result<VerifiedChain, Refusal> {
        for file in files {
            if let Err(error) = &file.paper {
                return Err(unreadable(file, error));
            }
        }
        // What no one presentation could hold together, no message can bring.
        let mut pairs = credentials.iter().zip(credentials.iter().skip(1));
        if let Some((_, other)) = pairs.find(|(one, other)| one.profile != other.profile) {
            return Err(Refusal::new(Stage::Presentation, Reason::Malformed)
                .detail("the papers are of two kinds, and no presentation can hold them together")
                .with(|evidence| evidence.credential.clone_from(&other.id)));
        }
        let mut holders = holders(files);
        let first = holders.next();
        if holders.any(|holder| Some(holder) != first) {
            return Err(Refusal::new(Stage::Presentation, Reason::HolderUnverified)
                .detail("presentations of different holders, of which a message has one"));
        }
        if credentials.len() > self.config.limits.credentials {
            return Err(Refusal::new(Stage::Presentation, Reason::LimitExceeded)
                .detail("more credentials than are judged"));
        }
        let apart = Apart { snapshot: &self.snapshot, config: &self.config, status_unreachable: false };
        let mut budget = Budget::new(&self.config.limits);
        apart.papers_of_message(root, credentials, &self.parts, &mut budget)
    }

    /// What can be said of phase D before anything is asked.
    fn unasked(&self, chain: &VerifiedChain) -> Result<(), Refusal> {
        for (hops, longest, phase, reason) in [
            (chain.hops(), self.config.max_chain_length, Phase::D, Reason::PolicyDenied),
            (
                chain.actor_hops(),
                self.config.max_actor_hops,
                Phase::Composition,
                Reason::IdentityCompositionFailed,
            ),
        ] {
            let policies: Vec<_> = hops.iter().map(|hop| hop.policy.as_ref()).collect();
            if policies.is_empty() {
                continue;
            }
            before_any_request(&policies, self.snapshot.instant, &self.snapshot.memory.revoked.ids, longest)
                .map_err(|denial| denial.into_refusal(reason, phase, hops))?;
        }
        match chain.composition_failure() {
            None => Ok(()),
            Some(failure) => {
                Err(failure.clone().into_refusal(Reason::IdentityCompositionFailed, Phase::Composition, &[]))
            }
        }
    }
}

/// One request, as a message would ask it that nobody asked before.
struct Asked {
    actions: ActionsUnderTest,
    actor: String,
    request: Request,
}

impl Asked {
    fn new(
        chain: &VerifiedChain,
        inputs: &Inputs,
        holder: Option<&str>,
        root: &str,
        (action, target): (&str, &str),
        attributes: &[(String, Term)],
    ) -> Self {
        let mut stated: BTreeMap<String, Vec<Term>> = BTreeMap::new();
        for (name, value) in attributes {
            stated.entry(name.clone()).or_default().push(value.clone());
        }
        let action = action_of_name(action);
        let asked = ActionUnderTest { class: action.clone(), action, target: target.to_owned(), stated };
        let actions = ActionsUnderTest {
            actions: vec![asked],
            root_principal: root.to_owned(),
            policy_references: Vec::new(),
            agent: None,
            unjudged_nodes: Vec::new(),
        };
        let request = Request {
            message: MessageInput::Bytes(Vec::new()),
            facts: CallerFacts::new("cli", Actor::Unauthenticated, ""),
            snapshot: inputs.snapshot.clone(),
        };
        let of_second = chain.actor_hops().last().and_then(|hop| hop.credential.authorizes.as_deref());
        let actor = holder.or(of_second).unwrap_or(chain.leaf_delegate()).to_owned();
        Self { actions, actor, request }
    }

    /// Phase D and composition.
    fn grant(&self, inputs: &Inputs, chain: &VerifiedChain) -> Result<PolicyGrant, Refusal> {
        PolicyGrant::evaluate(chain, &self.actions, &self.actor, &self.request, &inputs.config)
    }

    fn explanation(&self, inputs: &Inputs, chain: &VerifiedChain) -> Option<Explanation> {
        PolicyGrant::explain(chain, &self.actions, &self.actor, &self.request, &inputs.config)
    }
}

/// Whoever presents the papers acts.
fn holders(files: &[PaperFile]) -> impl Iterator<Item = &str> {
    files.iter().filter_map(|file| match &file.paper {
        Ok(Paper::Presentation(presentation)) => presentation.holder.as_deref(),
        _ => None,
    })
}

fn unreadable(file: &PaperFile, error: &PaperError) -> Refusal {
    error.clone().at(Stage::Presentation).with(|evidence| {
        let why = evidence.detail.take().unwrap_or_default();
        evidence.detail = Some(format!("{} cannot be read: {why}", file.name));
    })
}

impl Verdict {
    fn conclude(&mut self, refusal: Option<Refusal>) {
        self.holds = refusal.is_none();
        // A paper that cannot be read comes before every phase, and admission after them.
        let refusing = refusal.as_ref().map(|refusal| refusal.evidence().phase);
        let before = refusal.as_ref().is_some_and(|refusal| refusal.stage() != Stage::Admission);
        let mut outcome = if refusing == Some(None) && before { "not reached" } else { "ok" };
        for phase in PHASES {
            if refusing == Some(Some(phase)) {
                self.phases.push(PhaseVerdict { phase, outcome: "refused" });
                outcome = "not reached";
                continue;
            }
            if phase == Phase::Composition && self.actor_hops.is_empty() {
                continue;
            }
            self.phases.push(PhaseVerdict { phase, outcome });
        }
        let told = refusal.as_ref().map(Explanation::of_refusal);
        self.explanation = self.explanation.take().or(told);
        self.refusal = refusal
            .map(|refusal| RefusalSeen { reason: refusal.reason(), evidence: refusal.evidence().clone() });
    }

    fn in_words(&self) -> String {
        let root = output::escaped(&self.root_principal);
        let mut text = match &self.refusal {
            None => format!("{}  the chain of {root} holds at {}", output::coloured("OK", 32), self.at),
            Some(refusal) => format!(
                "{}  {} at {}\n  {}",
                output::coloured("REFUSE", 31),
                refusal.reason.as_str(),
                self.at,
                refusal.reason.sentence()
            ),
        };
        if let Some(until) = self.not_after.as_ref().filter(|_| self.holds) {
            let _ = write!(text, "\n  until {until}");
        }
        if let Some(asked) = self.asked.as_ref().filter(|_| self.holds) {
            let _ = write!(text, "\n  permits {}", output::escaped(asked));
        }
        text.push_str(&output::duties(&self.obligations));
        for verdict in &self.phases {
            let mark = match verdict.outcome {
                "ok" => output::coloured("ok", 32),
                "refused" => output::coloured("no", 31),
                _ => "--".to_owned(),
            };
            let _ = write!(text, "\n{mark} {:<12} {}", verdict.phase.as_str(), what_it_is(verdict.phase));
            if verdict.outcome == "refused"
                && let Some(refusal) = &self.refusal
            {
                text.push_str(&output::evidence(&refusal.evidence).replace('\n', "\n   "));
            }
        }
        if let Some(refusal) = self.refusal.as_ref().filter(|refusal| refusal.evidence.phase.is_none()) {
            text.push_str(&output::evidence(&refusal.evidence));
        }
        for (chain, hops) in [("hop", &self.hops), ("actor's hop", &self.actor_hops)] {
            for (number, hop) in hops.iter().enumerate() {
                let _ = write!(text, "\n{} {chain} {number}  {}", self.mark(chain, number), hop_words(hop));
            }
        }
        if let Some(explanation) = &self.explanation {
            let _ = write!(text, "\n{}", output::why(explanation));
        }
        let _ = write!(text, "\n{}", self.note);
        text
    }

    fn mark(&self, chain: &str, number: usize) -> String {
        let refused = self.refusal.as_ref().is_some_and(|refusal| {
            let of_chain = (refusal.evidence.phase == Some(Phase::Composition)) == (chain != "hop");
            of_chain && refusal.evidence.hop == Some(number)
        });
        if refused { output::coloured("no", 31) } else { output::coloured("ok", 32) }
    }
}

const PHASES: [Phase; 6] = [Phase::Assembly, Phase::A, Phase::B, Phase::C, Phase::D, Phase::Composition];

fn what_it_is(phase: Phase) -> &'static str {
    match phase {
        Phase::Assembly => "the papers form one chain",
        Phase::A => "each credential is genuine and current",
        Phase::B => "credentials, policies and hops fit together",
        Phase::C => "nothing is revoked, and that is known",
        Phase::D => "the policies can be used, and let what is asked be done",
        Phase::Composition => "a second chain leads from the delegate to the acting agent",
    }
}

fn hop_words(hop: &HopReport) -> String {
    let until = hop.valid_until.as_deref().map(|until| format!(" until {until}")).unwrap_or_default();
    let delegate = hop.authorizes.as_deref().unwrap_or("nobody");
    output::escaped(&format!("{} mandates {delegate} by {} ({}){until}", hop.issuer, hop.policy, hop.binding))
}
