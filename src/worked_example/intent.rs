//! Intents of the example, as Turtle.

use super::{BOB, NOTES, PURPOSE};
use std::fmt::Write as _;

/// An intent under construction. Whatever stands in it is written as it is: the vectors write wrong things on purpose.
#[derive(Debug, Clone)]
pub struct Intent {
    id: String,
    actions: Vec<IntentAction>,
    statements: Vec<String>,
    extra: String,
}

/// One action of an intent: its class and its predicates, in Turtle.
#[derive(Debug, Clone)]
pub struct IntentAction {
    class: String,
    statements: Vec<String>,
}

impl IntentAction {
    /// An action of a class (a prefixed name or an IRI in angle brackets).
    pub fn new(class: &str) -> Self {
        Self { class: class.to_owned(), statements: Vec::new() }
    }

    /// Adds a predicate and its objects, in Turtle.
    pub fn with(mut self, statement: &str) -> Self {
        self.statements.push(statement.to_owned());
        self
    }
}

impl Intent {
    /// An intent with one action.
    pub fn new(action: IntentAction) -> Self {
        Self {
            id: "<urn:a2a:intent:kxs8cv>".to_owned(),
            actions: vec![action],
            statements: Vec::new(),
            extra: String::new(),
        }
    }

    /// Give `recipient` read access to `target`.
    pub fn grant(target: &str, recipient: &str) -> Self {
        Self::new(
            IntentAction::new("a2a:GrantAction")
                .with(&format!("schema:object <{target}>"))
                .with(&format!("schema:recipient <{recipient}>"))
                .with("a2a:mode acl:Read"),
        )
    }

    /// The example's grant: read access to Alice's notes, for Bob.
    pub fn grant_bob() -> Self {
        Self::grant(NOTES, BOB)
    }

    /// Read `target`, for the example's purpose.
    pub fn read(target: &str) -> Self {
        Self::new(IntentAction::new("schema:ReadAction").with(&format!("schema:object <{target}>")))
            .with_purpose(PURPOSE)
    }

    /// Adds a further action.
    pub fn and(mut self, action: IntentAction) -> Self {
        self.actions.push(action);
        self
    }

    /// Adds a purpose parameter.
    pub fn with_purpose(self, purpose: &str) -> Self {
        self.with(&format!("a2a:parameter [ a2a:paramKey \"purpose\" ; a2a:paramValue <{purpose}> ]"))
    }

    /// Adds a predicate and its objects to the intent, in Turtle.
    pub fn with(mut self, statement: &str) -> Self {
        self.statements.push(statement.to_owned());
        self
    }

    /// Adds Turtle behind the intent.
    pub fn followed_by(mut self, turtle: &str) -> Self {
        self.extra.push_str(turtle);
        self.extra.push('\n');
        self
    }

    /// Whether the first action is a grant.
    pub(super) fn is_grant(&self) -> bool {
        self.actions.first().is_some_and(|action| action.class == "a2a:GrantAction")
    }

    /// The Turtle text.
    pub fn turtle(&self) -> String {
        let mut text = String::from(
            "@prefix a2a: <https://w3id.org/jeswr/a2a#>.\n@prefix acl: <http://www.w3.org/ns/auth/acl#>.\n\
             @prefix odrl: <http://www.w3.org/ns/odrl/2/>.\n@prefix schema: <https://schema.org/>.\n\n",
        );
        let _ = write!(text, "{} a a2a:Intent", self.id);
        for action in &self.actions {
            let _ = write!(text, " ;\n    a2a:action [ a {}", action.class);
            for statement in &action.statements {
                let _ = write!(text, " ;\n        {statement}");
            }
            text.push_str(" ]");
        }
        for statement in &self.statements {
            let _ = write!(text, " ;\n    {statement}");
        }
        text.push_str(" .\n");
        text.push_str(&self.extra);
        text
    }
}
