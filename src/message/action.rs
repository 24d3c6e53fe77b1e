//! Stage 5: the conforming intent to the actions under test.

use crate::config::Config;
use crate::decision::PermittedAction;
use crate::protocol::ProtocolDocument;
use crate::refusal::{Refusal, Stage};
use crate::request::CallerFacts;
use crate::shape::ConformingIntent;
use oxrdf::Term;
use std::collections::BTreeMap;

/// Everything that the intent asks for, under one root principal.
#[derive(Debug)]
pub(crate) struct ActionsUnderTest {
    pub(crate) actions: Vec<ActionUnderTest>,
    /// The owner of every target.
    pub(crate) root_principal: String,
    /// Values of `odrl:hasPolicy` on the intent.
    pub(crate) policy_references: Vec<String>,
    /// The agent that the intent names, where it names one; checked against the actor here where that is known, and
    /// against the holder once that is verified.
    pub(crate) agent: Option<String>,
    /// Subjects of triples that are about neither the intent nor its actions.
    pub(crate) unjudged_nodes: Vec<String>,
}

/// One (action, target, attributes) to be permitted.
#[derive(Debug, Clone)]
pub(crate) struct ActionUnderTest {
    /// The class of the action in the intent.
    pub(crate) class: String,
    /// The ODRL or WAC action that it maps to.
    pub(crate) action: String,
    pub(crate) target: String,
    /// Stated attributes, by local name of the left operand.
    pub(crate) stated: BTreeMap<String, Vec<Term>>,
}

impl ActionsUnderTest {
    /// Maps the intent's actions, checks targets and their roots, and refuses whatever the intent says beyond them.
    ///
    /// # Errors
    /// `INTENT_UNMAPPED`, `ACTION_UNKNOWN`, `TARGET_MISSING`, `TARGET_NOT_NORMAL`, `AGENT_MISMATCH`,
    /// `NO_ROOT_FOR_TARGET`, `MIXED_ROOTS`.
    pub(crate) fn extract(
        intent: &ConformingIntent,
        protocol: &ProtocolDocument,
        facts: &CallerFacts,
        config: &Config,
    ) -> Result<Self, Refusal> {
        let _ = (intent, protocol, facts, config);
        Err(Refusal::internal(Stage::Action, "not implemented"))
    }

    /// What a server may do once a permit is accepted.
    pub(crate) fn permitted(&self) -> Vec<PermittedAction> {
        self.actions
            .iter()
            .map(|action| PermittedAction {
                class: action.class.clone(),
                action: action.action.clone(),
                target: action.target.clone(),
            })
            .collect()
    }
}
