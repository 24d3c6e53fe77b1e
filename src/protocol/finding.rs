//! What a review finds in a Protocol Document.

/// One thing that the review of a Protocol Document found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    kind: FindingKind,
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    sentence: String,
    advice: &'static str,
}

/// Whether a finding refuses the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document is refused; nothing can load it.
    Refuses,
    /// Something that who accepts the document should know.
    Note,
}

/// What was found. The names are stable; `--json` prints them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// It is no Turtle or JSON-LD of one graph within the limits, or its graph costs too much to hash.
    Unreadable,
    /// Its graph does not hash to the pin.
    HashMismatch,
    /// It does not hold exactly one `a2a:ProtocolDocument` with an IRI.
    NotOneDocument,
    /// It has no `a2a:requestShape` (PDM-1).
    NoRequestShape,
    /// A request or response shape is no `sh:NodeShape` of the graph (PDM-3).
    ShapeMissing,
    /// It needs another graph: `owl:imports`, `sh:shapesGraph` (PDM-3, PDM-4).
    NeedsAnotherGraph,
    /// It refers to a shape that the graph does not hold (PDM-3).
    DanglingReference,
    /// It uses what is not of SHACL Core: SPARQL, JS, rules, functions, SHACL 1.2.
    NotShaclCore,
    /// A shape leads to itself.
    Recursive,
    /// Shapes are nested deeper than is run.
    NestedTooDeep,
    /// More shapes than are run.
    TooManyShapes,
    /// A path is cyclic, too large or not well-formed.
    UnusablePath,
    /// A list is cyclic, forked, unfinished or too long.
    UnusableList,
    /// A pattern is no regular expression of the linear-time engine, or would multiply its work.
    UnusablePattern,
    /// A parameter has a value that SHACL does not allow, or that the engine would read otherwise.
    UnusableValue,
    /// A term is longer than is run.
    TermTooLong,
    /// A shape is not of the kind that it is typed or used as.
    WrongKind,
    /// A shape exists only by inference, or a class is one by accident.
    InferredShape,
    /// A request or response shape is deactivated.
    Deactivated,
    /// A request or response shape lets everything pass.
    ConstrainsNothing,
    /// The engine did not compile what was read.
    NotCompiled,
    /// The worst case of a modest intent does not fit into `validation_steps` (SEC-14, SEC-15).
    CostsTooMuch,
    /// More was found than is listed.
    More,
    /// The request shapes do not pin down the classes that an action may have.
    OpenClasses,
    /// The request shapes leave no class that an action could have.
    NoClass,
    /// A class that the request shapes ask for has no default mapping.
    UnmappedClass,
    /// A shape that is neither a request nor a response shape is deactivated.
    InertShape,
    /// A shape judges nothing: no target, and no request or response shape leads to it.
    UnreachedShape,
    /// A shape has targets of its own, which are judged beside the intent.
    OwnTargets,
}

impl Finding {
    pub(crate) fn new(kind: FindingKind, sentence: impl Into<String>) -> Self {
        Self {
            kind,
            severity: kind.severity(),
            shape: None,
            sentence: sentence.into(),
            advice: kind.advice(),
        }
    }

    /// Says which shape it is about, unless that is known already.
    pub(crate) fn about(mut self, shape: &impl ToString) -> Self {
        self.shape.get_or_insert_with(|| shape.to_string());
        self
    }

    /// What was found.
    pub fn kind(&self) -> FindingKind {
        self.kind
    }

    /// Whether it refuses the document.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The shape that it is about, as N-Triples; a blank node's label says nothing outside of the review.
    pub fn shape(&self) -> Option<&str> {
        self.shape.as_deref()
    }

    /// What is so, for a person. It holds terms of the document.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        self.advice
    }

    pub(crate) fn refuses(&self) -> bool {
        self.severity == Severity::Refuses
    }
}

impl FindingKind {
    /// Whether a finding of this kind refuses.
    pub fn severity(self) -> Severity {
        match self {
            Self::OpenClasses
            | Self::NoClass
            | Self::UnmappedClass
            | Self::InertShape
            | Self::UnreachedShape
            | Self::OwnTargets => Severity::Note,
            _ => Severity::Refuses,
        }
    }

    /// Whether it is about the document rather than about a shape.
    pub(crate) fn is_of_the_document(self) -> bool {
        matches!(self, Self::Unreadable | Self::NotOneDocument | Self::NoRequestShape | Self::ShapeMissing)
    }

    /// What to do about a finding of this kind.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Unreadable => {
                "Give one graph as Turtle or JSON-LD, without a named graph, within the limits."
            }
            Self::HashMismatch => {
                "Do not use it: it is not the document that was agreed. Get the pinned one."
            }
            Self::NotOneDocument => "Describe one protocol, by one IRI typed a2a:ProtocolDocument.",
            Self::NoRequestShape => "Name a node shape with a2a:requestShape.",
            Self::ShapeMissing => "Put the shape into the graph, typed sh:NodeShape.",
            Self::NeedsAnotherGraph => "Copy what is needed into the document; no IRI is ever dereferenced.",
            Self::DanglingReference => "Put the shape that is referred to into the document.",
            Self::NotShaclCore => "Say it in SHACL Core, or leave it to the policy.",
            Self::Recursive => "Unfold the shape to the depth that is needed.",
            Self::NestedTooDeep => "Nest less deep, or join shapes that are nested by sh:node.",
            Self::TooManyShapes => "Leave out shapes, or make two documents.",
            Self::UnusablePath => "Use a path of SHACL Core with an end; a predicate is best.",
            Self::UnusableList => "Write a well-formed list with an end, and shorter than the limit.",
            Self::UnusablePattern => {
                "Use a short pattern without look-around, back references and large counted repetitions."
            }
            Self::UnusableValue => {
                "Give a value as SHACL asks for it, and only one where only one is allowed."
            }
            Self::TermTooLong => "Use shorter names, constants and messages.",
            Self::WrongKind => "Give a property shape one sh:path, and a node shape none.",
            Self::InferredShape => "Type each shape as sh:NodeShape or sh:PropertyShape itself.",
            Self::Deactivated => "Take sh:deactivated away, or take the shape away.",
            Self::ConstrainsNothing => "Add a constraint that some intent fails.",
            Self::NotCompiled => "Simplify the shape, and report this: the engine and its reader disagree.",
            Self::CostsTooMuch => {
                "Use fewer nested properties, unbounded paths, sh:class and long lists, or bound them by sh:node."
            }
            Self::More => "Repair what is listed, and review again.",
            Self::OpenClasses => {
                "Give the actions' rdf:type by sh:in, sh:hasValue or sh:class in a request shape."
            }
            Self::NoClass => {
                "Check what the request shapes ask of an action's rdf:type: nothing can conform."
            }
            Self::UnmappedClass => "Map the class under `actions`, or intents with it are refused.",
            Self::InertShape => "Nothing, if that is meant.",
            Self::UnreachedShape => "Refer to it, give it a target, or take it away.",
            Self::OwnTargets => "Nothing, if that is meant: what they select must conform too.",
        }
    }
}
