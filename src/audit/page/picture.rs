//! The chain of one decision as a picture: from the owner of the target, hop by hop, down to the actor and what it asks.
//!
//! Everything stands under everything else and each line is cut to its columns, so nothing can overlap, however long a name
//! is. Texts are ASCII here; the table beside the picture has them whole.

use super::escape::{Html, ascii, cut};
use crate::audit::{DecisionOutcome, DecisionReportV1, HopReport, ReportEnvelope};
use crate::refusal::{Evidence, Phase, Reason, Stage};

/// The picture's width; its units are CSS pixels where there is room.
const WIDTH: u32 = 560;
const LINE: u32 = 15;
/// Columns of a line in a box, and beside an arrow: 11 pixels of a monospaced face are at most 7 wide.
const BOX_COLUMNS: usize = 73;
const EDGE_COLUMNS: usize = 66;
/// Hops of one chain that are drawn. Ten times what is accepted by default.
const MAX_HOPS: usize = 40;
/// Actions that are drawn.
const MAX_ACTIONS: usize = 6;

/// Draws the chain of a decision. Empty: nothing of it was known when it ended.
pub(super) fn draw(report: &DecisionReportV1) -> Html {
    let body = &report.body;
    let mut picture = Picture { shapes: Html::default(), y: 2 };
    if body.chain.is_empty()
        && body.root_principal.is_none()
        && body.holder.is_none()
        && body.actions.is_empty()
    {
        return Html::default();
    }
    picture.chains(report);
    picture.asked(report);
    picture.verdict(report);
    let mut html = Html::default();
    let row = report.envelope.sequence;
    html.raw("<svg class=\"chain\" role=\"img\" width=\"").number(WIDTH);
    html.raw("\" height=\"")
        .number(picture.y)
        .raw("\" viewBox=\"0 0 ")
        .number(WIDTH)
        .raw(" ")
        .number(picture.y);
    html.raw("\" aria-labelledby=\"chain-")
        .number(row)
        .raw(" about-")
        .number(row)
        .raw("\"><title id=\"chain-")
        .number(row);
    html.raw("\">The chain of the decision in row ")
        .number(row)
        .raw("</title><desc id=\"about-")
        .number(row)
        .raw("\">");
    html.number(body.chain.len() as u64).raw(" hops from the root principal down, and ");
    html.number(body.actor_chain.len() as u64).raw(" of the actor's own chain. ");
    match failed(report) {
        Some(failed) => html.plain(failed.reason.as_str()).raw(" at ").plain(failed.stage.as_str()).raw("."),
        None => html.raw("Nothing failed."),
    };
    html.raw(" The tables under the picture say the same.</desc>");
    html.append(&picture.shapes).raw("</svg>");
    html
}

/// What refused, and on what grounds.
struct Failed<'r> {
    reason: Reason,
    stage: Stage,
    evidence: Option<&'r Evidence>,
}

fn failed(report: &DecisionReportV1) -> Option<Failed<'_>> {
    let body = &report.body;
    match (report.envelope.reason, body.reason) {
        (Some(reason), _) => Some(Failed { reason, stage: Stage::Admission, evidence: None }),
        (None, Some(reason)) => Some(Failed { reason, stage: body.stage, evidence: body.evidence.as_ref() }),
        (None, None) => None,
    }
}

/// Which arrow failed: its place in the primary chain or in the actor's.
fn failed_hop(failed: Option<&Failed<'_>>, of_actor: bool) -> Option<usize> {
    let evidence = failed?.evidence?;
    let in_actor = evidence.phase == Some(Phase::Composition);
    evidence.hop.filter(|_| in_actor == of_actor)
}

struct Picture {
    shapes: Html,
    /// Where the next shape begins.
    y: u32,
}

impl Picture {
    fn chains(&mut self, report: &DecisionReportV1) {
        let body = &report.body;
        let failed = failed(report);
        let failed = failed.as_ref();
        let root = body.chain.first().map(|hop| hop.issuer.as_str()).or(body.root_principal.as_deref());
        if let Some(root) = root {
            self.node("Root principal", "node", &[root]);
        }
        if body.chain.is_empty() {
            // No chain was verified, so there is none to draw: who presented, and where it ended.
            let Some(holder) = body.holder.as_deref().or(body.actor.as_deref()) else { return };
            if root.is_some() {
                self.unverified(failed);
            }
            let label = if body.holder.is_some() { "Holder of the presentation" } else { "Actor" };
            self.node(label, "node", &[holder]);
            return;
        }
        let last = if body.actor_chain.is_empty() { "Actor" } else { "Leaf delegate" };
        let envelope = &report.envelope;
        self.hops(envelope, "/body/chain", &body.chain, "Hop", last, failed_hop(failed, false), failed);
        if !body.actor_chain.is_empty() {
            self.caption("Identity composition: the leaf delegate's own chain to the actor");
            let at = failed_hop(failed, true);
            self.hops(envelope, "/body/actorChain", &body.actor_chain, "Actor hop", "Actor", at, failed);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one of two chains, and what is said of it")]
    fn hops(
        &mut self,
        envelope: &ReportEnvelope,
        path: &str,
        hops: &[HopReport],
        word: &'static str,
        last: &'static str,
        at: Option<usize>,
        failed: Option<&Failed<'_>>,
    ) {
        let mut issuer = None;
        for (number, hop) in hops.iter().enumerate().take(MAX_HOPS) {
            if issuer.is_some_and(|issuer| issuer != hop.issuer) {
                self.node("Issuer of the next hop", "node", &[&hop.issuer]);
            }
            let absent = |member: &str, none: &'static str| {
                envelope.absent(&format!("{path}/{number}/{member}"), none)
            };
            let credential = hop.credential.as_deref().unwrap_or(absent("credential", "(without an id)"));
            self.edge(word, number, hop, credential, failed.filter(|_| at == Some(number)));
            let is_last = number + 1 == hops.len();
            let label = if is_last { last } else { "Delegate" };
            let nobody = absent("authorizes", "(nobody is named)");
            self.node(label, "node", &[hop.authorizes.as_deref().unwrap_or(nobody)]);
            issuer = hop.authorizes.as_deref();
        }
        if hops.len() > MAX_HOPS {
            self.caption("More hops are in the table.");
        }
    }

    /// The credential and the policy that lead from one principal to the next.
    fn edge(
        &mut self,
        word: &'static str,
        number: usize,
        hop: &HopReport,
        credential: &str,
        failed: Option<&Failed<'_>>,
    ) {
        let until = hop.valid_until.as_deref().unwrap_or("whenever");
        let mut lines = vec![
            (format!("{word} {number}, {} binding, until {until}", hop.binding), "strong"),
            (format!("credential {credential}"), ""),
            (format!("policy {}", hop.policy), ""),
        ];
        if let Some(failed) = failed {
            lines.extend(grounds(failed, true));
        }
        self.arrow(&lines, failed.is_some());
    }

    /// What stands where the chain would.
    fn unverified(&mut self, failed: Option<&Failed<'_>>) {
        let mut lines = vec![("No chain was verified".to_owned(), "strong")];
        if let Some(failed) =
            failed.filter(|failed| failed.stage == Stage::Chain || failed.evidence.is_some())
        {
            lines.extend(grounds(failed, false));
        }
        self.arrow(&lines, true);
    }

    fn asked(&mut self, report: &DecisionReportV1) {
        let actions = &report.body.actions;
        if actions.is_empty() {
            return;
        }
        self.arrow(&[("asks for".to_owned(), "strong")], false);
        for action in actions.iter().take(MAX_ACTIONS) {
            self.node("Action and target", "node asked", &[&super::short(&action.action), &action.target]);
            self.y += 6;
        }
        self.y -= 6;
        if actions.len() > MAX_ACTIONS {
            self.y += 6;
            self.caption("More actions are in the table.");
        }
    }

    fn verdict(&mut self, report: &DecisionReportV1) {
        let failed = failed(report);
        // What failed at a hop is written there; what failed elsewhere, here.
        let drawn = [false, true].into_iter().any(|of_actor| {
            let hops = if of_actor { &report.body.actor_chain } else { &report.body.chain };
            failed_hop(failed.as_ref(), of_actor).is_some_and(|hop| hop < hops.len().min(MAX_HOPS))
        });
        let body = &report.body;
        let has_presenter = body.holder.is_some() || body.actor.is_some();
        let unverified = body.chain.is_empty() && body.root_principal.is_some() && has_presenter;
        let lines: Vec<_> = match &failed {
            Some(failed) if !drawn && !unverified => grounds(failed, false),
            _ => Vec::new(),
        };
        self.arrow(&lines, !lines.is_empty());
        let (class, word) = match report.envelope.outcome {
            DecisionOutcome::Allow => ("node allow", "ALLOW".to_owned()),
            DecisionOutcome::NotOurs => ("node", "NOT OURS".to_owned()),
            DecisionOutcome::Refuse => {
                let why = failed
                    .as_ref()
                    .map(|failed| format!(": {} at {}", failed.reason.as_str(), failed.stage.as_str()));
                ("node refuse", format!("REFUSE{}", why.unwrap_or_default()))
            }
        };
        self.node("Decision", class, &[&word]);
        self.y += 2;
    }

    /// A box with a label and lines.
    fn node(&mut self, label: &'static str, class: &'static str, texts: &[&str]) {
        let lines: Vec<_> = texts.iter().flat_map(|text| wrapped(text, BOX_COLUMNS)).collect();
        let height = 14 + LINE * (u32::try_from(lines.len()).unwrap_or(u32::MAX) + 1);
        self.shapes.raw("<g class=\"").raw(class).raw("\">");
        self.whole(texts.iter().copied(), 2 * BOX_COLUMNS);
        self.shapes.raw("<rect x=\"2\" y=\"").number(self.y).raw("\" width=\"").number(WIDTH - 4);
        self.shapes.raw("\" height=\"").number(height).raw("\"/>");
        self.line(14, self.y + 17, "label", label);
        for (line, at) in lines.iter().zip(1u32..) {
            self.line(14, self.y + 18 + LINE * at, "", line);
        }
        self.shapes.raw("</g>");
        self.y += height;
    }

    /// An arrow down with lines beside it.
    fn arrow(&mut self, lines: &[(String, &'static str)], failed: bool) {
        let height = 22 + LINE * u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let end = self.y + height;
        self.shapes.raw(if failed { "<g class=\"edge failed\">" } else { "<g class=\"edge\">" });
        self.whole(lines.iter().map(|(text, _)| text.as_str()), EDGE_COLUMNS);
        self.shapes.raw("<path d=\"M30 ").number(self.y).raw("V").number(end - 7);
        self.shapes.raw("\"/><path class=\"tip\" d=\"M25 ").number(end - 8).raw("h10l-5 8z\"/>");
        if failed {
            let middle = self.y + height / 2 - 4;
            self.shapes
                .raw("<path class=\"cross\" d=\"M24 ")
                .number(middle - 6)
                .raw("l12 12m0 -12l-12 12\"/>");
        }
        for ((text, class), at) in lines.iter().zip(1u32..) {
            self.line(50, self.y + 4 + LINE * at, class, &cut(&ascii(text), EDGE_COLUMNS));
        }
        self.shapes.raw("</g>");
        self.y = end;
    }

    /// A title with the whole texts, where the picture has not room for one of them or writes it otherwise.
    fn whole<'t>(&mut self, texts: impl Iterator<Item = &'t str> + Clone, columns: usize) {
        let fits =
            |text: &str| text.len() <= columns && text.bytes().all(|octet| matches!(octet, b' '..=b'~'));
        if texts.clone().all(fits) {
            return;
        }
        self.shapes.raw("<title>");
        for (text, number) in texts.zip(0..) {
            self.shapes.raw(if number > 0 { "; " } else { "" }).plain(&cut(text, super::TITLE_CHARS));
        }
        self.shapes.raw("</title>");
    }

    fn caption(&mut self, text: &'static str) {
        self.y += 20;
        self.line(14, self.y - 4, "label", text);
        self.y += 4;
    }

    /// One line of text, which must fit.
    fn line(&mut self, x: u32, y: u32, class: &'static str, text: &str) {
        self.shapes.raw("<text x=\"").number(x).raw("\" y=\"").number(y);
        if !class.is_empty() {
            self.shapes.raw("\" class=\"").raw(class);
        }
        self.shapes.raw("\">").plain(text).raw("</text>");
    }
}

/// What failed, and on what grounds; beside its hop, without saying again which that is.
fn grounds(failed: &Failed<'_>, at_hop: bool) -> Vec<(String, &'static str)> {
    let phase = failed.evidence.and_then(|evidence| evidence.phase);
    let phase = phase.map(|phase| format!(", phase {}", phase.as_str())).unwrap_or_default();
    let refused = format!("Refused here: {} at {}{phase}", failed.reason.as_str(), failed.stage.as_str());
    let mut lines = vec![(refused, "why strong")];
    let Some(evidence) = failed.evidence else { return lines };
    let hop = evidence.hop.map(|hop| hop.to_string()).filter(|_| !at_hop);
    let policy = evidence.policy.clone().filter(|_| !at_hop);
    let named = [
        ("hop", &hop),
        ("policy", &policy),
        ("constraint", &evidence.constraint),
        ("seen", &evidence.seen),
        ("expected", &evidence.expected),
    ];
    lines.extend(
        named.into_iter().filter_map(|(name, value)| Some((format!("{name}: {}", value.as_ref()?), "why"))),
    );
    lines
}

/// A text in at most two lines.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let text = cut(&ascii(text), 2 * columns);
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(columns).map(|line| line.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{ReportEnvelope, example_body};

    /// Whoever presented is not known: the owner is, and why it ended.
    #[test]
    fn the_grounds_are_drawn_where_nobody_is_known_to_have_presented() {
        let mut body = example_body();
        (body.holder, body.actor) = (None, None);
        body.chain.clear();
        body.actor_chain.clear();
        (body.stage, body.reason) = (Stage::Presentation, Some(Reason::DomainMismatch));
        body.evidence =
            Some(Evidence { seen: Some("https://elsewhere.example/".into()), ..Evidence::default() });
        let envelope = ReportEnvelope::unrecorded("id".to_owned(), DecisionOutcome::Refuse);
        let report = DecisionReportV1 { version: DecisionReportV1::VERSION.to_owned(), body, envelope };
        assert!(draw(&report).as_str().contains("seen: https://elsewhere.example/"));
    }

    #[test]
    fn a_long_name_takes_two_lines_and_no_more() {
        assert_eq!(wrapped("short", 10), ["short"]);
        assert_eq!(wrapped(&"a".repeat(25), 10).iter().map(String::len).collect::<Vec<_>>(), [10, 10]);
        assert!(wrapped("", 10).is_empty());
    }
}
