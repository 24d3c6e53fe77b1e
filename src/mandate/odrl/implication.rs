//! What follows from constraints without any request: one is implied by others, or excluded by them. What cannot be
//! compared is neither.

use super::model::{Constraint, Logic, Operator};
use super::value::{Kind, Typed};
use crate::vocab::{odrl, odrld};
use std::cell::Cell;
use std::cmp::Ordering;

/// The work that is left. When it is spent, nothing more is shown.
pub(super) struct Steps(Cell<usize>);

impl Steps {
    pub(super) fn new(steps: usize) -> Self {
        Self(Cell::new(steps))
    }

    /// Whether the work may be done.
    pub(super) fn spend(&self, steps: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(steps));
        !self.is_spent()
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

pub(super) fn is_readable(constraint: &Constraint) -> bool {
    match constraint {
        Constraint::Unreadable(_) => false,
        Constraint::Compare { right, .. } => {
            !right.is_empty() && right.iter().all(|right| right.kind().is_some())
        }
        Constraint::Logical { operands, .. } => !operands.is_empty() && operands.iter().all(is_readable),
    }
}

/// Whether a constraint of a permission is true for every request for which all of `holding` are true.
pub(super) fn implied(holding: &[&Constraint], wanted: &Constraint, steps: &Steps) -> bool {
    // Operands within operands on both sides: without the count, their pairings would have no end that is near.
    if !steps.spend(pairs(holding, wanted)) || !is_readable(wanted) {
        return false;
    }
    match wanted {
        Constraint::Logical { logic, operands } if logic.is_conjunction() => {
            return operands.iter().all(|operand| implied(holding, operand, steps));
        }
        Constraint::Logical { logic: Logic::Or, operands }
            if operands.iter().any(|operand| implied(holding, operand, steps)) =>
        {
            return true;
        }
        _ => {}
    }
    holding.iter().any(|held| match held {
        held if *held == wanted => true,
        Constraint::Logical { logic, operands } if logic.is_conjunction() => {
            implied(&operands.iter().collect::<Vec<_>>(), wanted, steps)
        }
        // Whichever of them holds, it follows.
        Constraint::Logical { logic: Logic::Or, operands } => {
            operands.iter().all(|operand| implied(&[operand], wanted, steps))
        }
        held => match (Range::of(held), Range::of(wanted)) {
            (Some(held), Some(wanted)) => held.is_within(&wanted),
            _ => all_of(held, wanted),
        },
    })
}

/// Whether a constraint of a prohibition is false for every request for which all of `holding` are true.
pub(super) fn excluded(holding: &[&Constraint], wanted: &Constraint, steps: &Steps) -> bool {
    if !steps.spend(pairs(holding, wanted)) {
        return false;
    }
    if let Constraint::Logical { logic, operands } = wanted
        && logic.is_conjunction()
    {
        return !operands.is_empty() && operands.iter().any(|operand| excluded(holding, operand, steps));
    }
    holding.iter().any(|held| match held {
        Constraint::Logical { logic, operands } if logic.is_conjunction() => {
            excluded(&operands.iter().collect::<Vec<_>>(), wanted, steps)
        }
        Constraint::Logical { logic: Logic::Or, operands } => {
            !operands.is_empty() && operands.iter().all(|operand| excluded(&[operand], wanted, steps))
        }
        held => match (Range::of(held), Range::of(wanted)) {
            (Some(held), Some(wanted)) => held.is_apart(&wanted),
            _ => false,
        },
    })
}

/// The values that are compared where each of `holding` meets `wanted`, and one for each.
fn pairs(holding: &[&Constraint], wanted: &Constraint) -> usize {
    let values = |constraint: &Constraint| match constraint {
        Constraint::Compare { right, .. } => right.len().max(1),
        Constraint::Logical { operands, .. } => operands.len().max(1),
        Constraint::Unreadable(_) => 1,
    };
    let wanted = values(wanted);
    holding.iter().fold(1, |sum: usize, held| sum.saturating_add(values(held).saturating_mul(wanted)))
}

/// `isAllOf`: more wanted values are a narrower constraint.
fn all_of(held: &Constraint, wanted: &Constraint) -> bool {
    let (
        Constraint::Compare { operand, operator: Operator::IsAllOf, right },
        Constraint::Compare { operand: other, operator: Operator::IsAllOf, right: wanted },
    ) = (held, wanted)
    else {
        return false;
    };
    operand == other && wanted.iter().all(|wanted| right.contains(wanted))
}

/// The values that a comparison lets every value of the request be, all read as one kind.
struct Range<'c> {
    operand: &'c str,
    family: Family,
    values: Values,
}

/// Kinds whose values every right operand of the family reads alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Number,
    Instant,
    /// Compared for equality alone.
    Other(Kind),
}

enum Values {
    Among(Vec<Typed>),
    Outside(Vec<Typed>),
    Below(Typed, bool),
    Above(Typed, bool),
}

impl<'c> Range<'c> {
    /// `None` for what is not a set of values of one kind.
    fn of(constraint: &'c Constraint) -> Option<Self> {
        let Constraint::Compare { operand, operator, right } = constraint else { return None };
        let mut family = None;
        let mut values = Vec::new();
        for value in right {
            let kind = value.kind()?;
            let fits = match operand.as_str() {
                odrl::DATE_TIME => kind == Kind::Instant,
                odrl::COUNT | odrld::DELEGATION_DEPTH => kind == Kind::Integer,
                _ => true,
            };
            let own = match kind {
                Kind::Integer | Kind::Decimal => Family::Number,
                Kind::Instant => Family::Instant,
                other => Family::Other(other),
            };
            if !fits || family.is_some_and(|family| family != own) {
                return None;
            }
            family = Some(own);
            values.push(value.read(kind)?);
        }
        let family = family?;
        let single = values.len() == 1;
        let ordered = |values: Vec<Typed>| {
            let bound = values.into_iter().next();
            bound.filter(|_| single && matches!(family, Family::Number | Family::Instant))
        };
        let values = match operator {
            Operator::Eq if single => Values::Among(values),
            Operator::IsAnyOf => Values::Among(values),
            Operator::Neq | Operator::IsNoneOf => Values::Outside(values),
            Operator::Lt => Values::Below(ordered(values)?, false),
            Operator::Lteq => Values::Below(ordered(values)?, true),
            Operator::Gt => Values::Above(ordered(values)?, false),
            Operator::Gteq => Values::Above(ordered(values)?, true),
            _ => return None,
        };
        Some(Self { operand, family, values })
    }

    fn comparable(&self, other: &Self) -> bool {
        self.operand == other.operand && self.family == other.family
    }

    /// Whether every value here is one there.
    fn is_within(&self, other: &Self) -> bool {
        let inside = |bound: &Typed, included: bool, limit: &Typed, limit_included: bool, side| match bound
            .order(limit)
        {
            Some(Ordering::Equal) => limit_included || !included,
            order => order == Some(side),
        };
        self.comparable(other)
            && match (&self.values, &other.values) {
                (Values::Among(own), _) => own.iter().all(|value| other.has(value) == Some(true)),
                (Values::Outside(own), Values::Outside(others)) => {
                    others.iter().all(|value| own.iter().any(|own| own.equals(value) == Some(true)))
                }
                (Values::Below(_, _) | Values::Above(_, _), Values::Outside(others)) => {
                    others.iter().all(|value| self.has(value) == Some(false))
                }
                (Values::Below(own, included), Values::Below(limit, limit_included)) => {
                    inside(own, *included, limit, *limit_included, Ordering::Less)
                }
                (Values::Above(own, included), Values::Above(limit, limit_included)) => {
                    inside(own, *included, limit, *limit_included, Ordering::Greater)
                }
                _ => false,
            }
    }

    /// Whether no value here is one there.
    fn is_apart(&self, other: &Self) -> bool {
        self.comparable(other)
            && match (&self.values, &other.values) {
                (Values::Among(own), _) => own.iter().all(|value| other.has(value) == Some(false)),
                (_, Values::Among(others)) => others.iter().all(|value| self.has(value) == Some(false)),
                (Values::Below(top, top_included), Values::Above(bottom, bottom_included))
                | (Values::Above(bottom, bottom_included), Values::Below(top, top_included)) => {
                    match top.order(bottom) {
                        Some(Ordering::Equal) => !(*top_included && *bottom_included),
                        order => order == Some(Ordering::Less),
                    }
                }
                _ => false,
            }
    }

    fn has(&self, value: &Typed) -> Option<bool> {
        let among =
            |values: &[Typed]| values.iter().try_fold(false, |found, own| Some(found || own.equals(value)?));
        match &self.values {
            Values::Among(values) => among(values),
            Values::Outside(values) => among(values).map(|found| !found),
            Values::Below(bound, true) => value.order(bound).map(Ordering::is_le),
            Values::Below(bound, false) => value.order(bound).map(Ordering::is_lt),
            Values::Above(bound, true) => value.order(bound).map(Ordering::is_ge),
            Values::Above(bound, false) => value.order(bound).map(Ordering::is_gt),
        }
    }
}
