//! What secures a paper: Data Integrity proofs in it, or one JWS around it. Never both (`mandate.md` 1, 2).

use super::PaperError;
use super::data_integrity::{self, Proof, Statement};
use crate::refusal::Reason;
use crate::request::Instant;

/// The securing mechanism of a paper (VC Data Model 2.0, 4.12).
#[derive(Debug, Clone)]
pub(crate) enum Securing {
    /// Data Integrity proofs: none, one or a set.
    DataIntegrity(Vec<Proof>),
    /// A JWS around the paper (`vc+jwt`, `vp+jwt`).
    Jose(Jws),
}

/// The JWS that a paper came in.
#[derive(Debug, Clone)]
pub(crate) struct Jws {
    /// What its header and claims say; `None` for an algorithm that is not accepted here.
    pub(crate) statement: Option<Statement>,
    /// The first instant at which it is good.
    pub(crate) not_before: Option<Instant>,
}

impl Securing {
    /// The Data Integrity proofs: what is in the paper's own graph, beside the paper.
    pub(crate) fn proofs(&self) -> &[Proof] {
        match self {
            Self::DataIntegrity(proofs) => proofs,
            Self::Jose(_) => &[],
        }
    }

    /// Every statement that secures the paper, if there is at least one and all are of an accepted kind.
    ///
    /// # Errors
    /// `NO_PROOF`, then `UNKNOWN_CRYPTOSUITE`.
    pub(crate) fn statements(&self) -> Result<Vec<&Statement>, PaperError> {
        match self {
            Self::DataIntegrity(proofs) => data_integrity::statements(proofs),
            Self::Jose(jws) => jws.accepted().map(|statement| vec![statement]),
        }
    }

    /// The one statement that secures a presentation.
    ///
    /// # Errors
    /// `MALFORMED` where there are several, `NO_PROOF`, then `UNKNOWN_CRYPTOSUITE`.
    pub(crate) fn only_statement(&self) -> Result<&Statement, PaperError> {
        match self {
            Self::DataIntegrity(proofs) => data_integrity::only_statement(proofs),
            Self::Jose(jws) => jws.accepted(),
        }
    }

    /// The ends that the proofs state for themselves.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Instant> + '_ {
        let of_proofs = self.proofs().iter().filter_map(|proof| proof.statement.as_ref());
        let of_jws = match self {
            Self::DataIntegrity(_) => None,
            Self::Jose(jws) => jws.statement.as_ref(),
        };
        of_proofs.chain(of_jws).filter_map(|statement| statement.expires)
    }

    /// The octets that are kept of a JWS beside the paper's graph: what is signed, and by which method.
    pub(crate) fn octets_of_jws(&self) -> usize {
        match self {
            Self::DataIntegrity(_) => 0,
            Self::Jose(jws) => jws.statement.as_ref().map_or(0, Statement::octets),
        }
    }

    /// The first instant that a JWS states for itself.
    pub(crate) fn not_before(&self) -> Option<Instant> {
        match self {
            Self::DataIntegrity(_) => None,
            Self::Jose(jws) => jws.not_before,
        }
    }
}

impl Jws {
    fn accepted(&self) -> Result<&Statement, PaperError> {
        self.statement.as_ref().ok_or_else(|| {
            PaperError::new(Reason::UnknownCryptosuite, "the JWS is of no algorithm that is accepted")
        })
    }
}
