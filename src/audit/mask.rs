//! Masking: values that a recorded report leaves out.
//!
//! Rules work on a copy, after everything was decided. The paths that they removed are in the envelope, and so is the
//! digest of the whole body, so that a re-decision still compares what was there: nothing can be added, changed or left
//! out under the cover of a mask.

use super::ReportBody;
use crate::config::ConfigError;
use serde_json::{Value, json};

/// A body as it is recorded, where values of it are masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The body without the masked values.
    pub(crate) body: ReportBody,
    /// JSON pointers, into the report, of what was removed.
    pub(crate) redacted: Vec<String>,
}

/// What a rule does where it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// A member that a report may do without goes.
    Remove,
    /// A list is left without items.
    Empty,
}

/// What may be masked: what can name a person, or what a peer wrote. Who asked (`peer`), what came of it, and which
/// papers it rested on always stay.
const MASKABLE: [(&str, How); 22] = [
    ("/body/actions", How::Empty),
    ("/body/actor", How::Remove),
    ("/body/actorChain/*/authorizes", How::Remove),
    ("/body/actorChain/*/credential", How::Remove),
    ("/body/attributes", How::Empty),
    ("/body/attributes/*/values", How::Empty),
    ("/body/chain/*/authorizes", How::Remove),
    ("/body/chain/*/credential", How::Remove),
    ("/body/context", How::Remove),
    ("/body/discharged", How::Empty),
    ("/body/evidence", How::Remove),
    ("/body/evidence/credential", How::Remove),
    ("/body/evidence/detail", How::Remove),
    ("/body/evidence/expected", How::Remove),
    ("/body/evidence/seen", How::Remove),
    ("/body/holder", How::Remove),
    // The controller document of a holder is among them.
    ("/body/inputs", How::Empty),
    ("/body/messageId", How::Remove),
    ("/body/obligations/*/target", How::Remove),
    ("/body/rootPrincipal", How::Remove),
    ("/body/shaclReport", How::Remove),
    ("/body/unjudgedNodes", How::Empty),
];

/// Masking rules, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mask {
    rules: Vec<(&'static str, How)>,
}

impl Mask {
    /// Rules by their paths: JSON pointers into a report, with `*` for each item of a list.
    ///
    /// # Errors
    /// [`ConfigError`] for a path that does not exist, or that may not be masked.
    pub fn new<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Result<Self, ConfigError> {
        let mut rules = Vec::new();
        for path in paths {
            let path = path.as_ref();
            let rule = MASKABLE.into_iter().find(|(maskable, _)| *maskable == path).ok_or_else(|| {
                ConfigError::new("audit.mask", format!("{path} is nothing that a report can be without"))
            })?;
            rules.push(rule);
        }
        Ok(Self { rules })
    }

    /// Whether nothing is masked.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// A masked copy of a body. `None` where nothing of it is masked.
    ///
    /// # Errors
    /// A body that JSON cannot write; there is none.
    pub(crate) fn apply(&self, body: &ReportBody) -> Result<Option<Masked>, serde_json::Error> {
        if self.rules.is_empty() {
            return Ok(None);
        }
        let mut report = json!({ "body": body });
        let mut redacted = Vec::new();
        for (path, how) in &self.rules {
            for concrete in places(&report, path) {
                if mask(&mut report, &concrete, *how) {
                    redacted.push(concrete);
                }
            }
        }
        if redacted.is_empty() {
            return Ok(None);
        }
        Ok(Some(Masked { body: body_of(report)?, redacted }))
    }
}

/// A body without what an envelope says was removed. `None` where a path is none that could have been.
pub(crate) fn redacted(body: &ReportBody, paths: &[String]) -> Option<ReportBody> {
    let mut report = json!({ "body": body });
    for path in paths {
        let (_, how) = MASKABLE.into_iter().find(|(maskable, _)| is_instance(path, maskable))?;
        if !mask(&mut report, path, how) {
            return None;
        }
    }
    body_of(report).ok()
}

fn body_of(mut report: Value) -> Result<ReportBody, serde_json::Error> {
    serde_json::from_value(report.get_mut("body").map(Value::take).unwrap_or_default())
}

/// The places of a report that a path with `*` stands for.
fn places(report: &Value, path: &str) -> Vec<String> {
    match path.split_once("/*") {
        None => vec![path.to_owned()],
        Some((list, rest)) => {
            let items = report.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
            (0..items).map(|item| format!("{list}/{item}{rest}")).collect()
        }
    }
}

/// Whether `path` is `maskable` with numbers in the places of its stars.
fn is_instance(path: &str, maskable: &str) -> bool {
    let is_number = |step: &str| step == "0" || (!step.starts_with('0') && step.parse::<usize>().is_ok());
    path.split('/').count() == maskable.split('/').count()
        && path
            .split('/')
            .zip(maskable.split('/'))
            .all(|(step, rule)| step == rule || (rule == "*" && is_number(step)))
}

/// Masks one place. `false`: there was nothing.
fn mask(report: &mut Value, path: &str, how: How) -> bool {
    match how {
        How::Remove => {
            let Some((parent, member)) = path.rsplit_once('/') else { return false };
            let parent = report.pointer_mut(parent).and_then(Value::as_object_mut);
            parent.is_some_and(|parent| parent.remove(member).is_some())
        }
        How::Empty => {
            let list = report.pointer_mut(path).and_then(Value::as_array_mut);
            list.is_some_and(|list| !std::mem::take(list).is_empty())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{EvaluationOutcome, example_body};
    use crate::decision::Obligation;
    use crate::refusal::{Evidence, Reason, Stage, WireCode};

    fn refused_body() -> ReportBody {
        let text = || Some("text".to_owned());
        ReportBody {
            outcome: EvaluationOutcome::Refused,
            stage: Stage::Shape,
            wire_code: Some(WireCode::ValidationFailed),
            reason: Some(Reason::ShapeViolation),
            evidence: Some(Evidence {
                credential: text(),
                detail: text(),
                expected: text(),
                seen: text(),
                ..Evidence::default()
            }),
            shacl_report: text(),
            obligations: [Obligation { action: "a".into(), target: text(), policy: "p".into() }].into(),
            actor_chain: example_body().chain,
            ..example_body()
        }
    }

    fn schema_accepts(body: &ReportBody) -> bool {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.schema.json");
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("report.schema.json", schema).unwrap();
        let index = compiler.compile("report.schema.json#/$defs/body", &mut schemas).unwrap();
        schemas.validate(&serde_json::to_value(body).unwrap(), index).is_ok()
    }

    #[test]
    fn each_rule_leaves_a_valid_report_and_says_what_it_removed() {
        let body = refused_body();
        for (path, _) in MASKABLE {
            let Masked { body: masked, redacted: removed } =
                Mask::new([path]).unwrap().apply(&body).unwrap().unwrap();
            assert_eq!(removed.len(), 1, "{path}");
            assert!(is_instance(&removed[0], path), "{path}");
            assert_ne!(masked, body, "{path}");
            assert!(schema_accepts(&masked), "{path}");
            assert_eq!(redacted(&body, &removed).unwrap(), masked, "{path}");
            // A second time there is nothing left to remove.
            assert_eq!(Mask::new([path]).unwrap().apply(&masked).unwrap(), None, "{path}");
        }
    }

    #[test]
    fn all_rules_together_leave_a_valid_report_in_any_order() {
        let body = refused_body();
        let paths = || MASKABLE.into_iter().map(|(path, _)| path);
        for paths in [paths().collect::<Vec<_>>(), paths().rev().collect()] {
            let Masked { body: masked, redacted: removed } =
                Mask::new(&paths).unwrap().apply(&body).unwrap().unwrap();
            assert!(schema_accepts(&masked));
            assert_eq!(redacted(&body, &removed).unwrap(), masked);
            assert!(masked.actions.is_empty() && masked.evidence.is_none() && masked.holder.is_none());
        }
    }

    #[test]
    fn a_rule_without_effect_removes_nothing_and_says_so() {
        let body = ReportBody { holder: None, attributes: vec![], ..example_body() };
        let mask = Mask::new(["/body/holder", "/body/attributes", "/body/attributes/*/values"]).unwrap();
        assert_eq!(mask.apply(&body).unwrap(), None);
        assert!(Mask::default().is_empty() && !mask.is_empty());
    }

    #[test]
    fn what_a_report_cannot_be_without_is_no_rule() {
        for path in [
            "/body/peer",
            "/body/outcome",
            "/body/reason",
            "/body/messageDigest",
            "/body/marks",
            "/body/chain",
            "/body/chain/*/policy",
            "/body/chain/0/credential",
            "/envelope/decisionId",
            "/body/attribute",
            "/body",
            "body/holder",
            "",
        ] {
            let error = Mask::new([path]).unwrap_err();
            assert_eq!(error.setting, "audit.mask", "{path}");
        }
    }

    #[test]
    fn an_envelope_cannot_claim_a_path_that_no_rule_removes() {
        let body = refused_body();
        for path in [
            "/body/peer",
            "/body/chain/*/credential",
            "/body/chain/7/credential",
            "/body/chain/00/credential",
            "/body/chain/+0/credential",
            "/body/holder/x",
            "/body/notAfter",
        ] {
            assert_eq!(redacted(&body, &[path.to_owned()]), None, "{path}");
        }
        let twice = ["/body/holder".to_owned(), "/body/holder".to_owned()];
        assert_eq!(redacted(&body, &twice), None);
    }
}
