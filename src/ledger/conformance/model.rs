//! The ledger answers as plain maps would, whatever comes in whatever order.

use super::*;
use proptest::prelude::*;

/// One step; few names, so that they meet.
#[derive(Debug, Clone)]
enum Step {
    Admit {
        id: u8,
        content: u8,
        context: Option<u8>,
        holder: u8,
        challenge: u8,
        policy: u8,
        seen: Option<u64>,
    },
    Record,
    Revoke(u8),
}

/// What a step must come to.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Allowed,
    Refused(Reason),
    Stale,
    Done,
}

/// The ledger, as plain maps.
#[derive(Debug, Default)]
struct Model {
    messages: BTreeMap<(Option<u8>, u8, u8), u8>,
    challenges: BTreeSet<(u8, u8)>,
    counts: BTreeMap<String, u64>,
    revoked: BTreeSet<String>,
    rows: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let admit =
        (0..3u8, 0..2u8, proptest::option::of(0..2u8), 0..2u8, 0..6u8, 0..3u8, proptest::option::of(0..3u64))
            .prop_map(|(id, content, context, holder, challenge, policy, seen)| Step::Admit {
                id,
                content,
                context,
                holder,
                challenge,
                policy,
                seen,
            });
    let step = prop_oneof![8 => admit, 1 => Just(Step::Record), 1 => (0..3u8).prop_map(Step::Revoke)];
    proptest::collection::vec(step, 0..40)
}

impl Model {
    fn take(&mut self, step: &Step) -> Answer {
        let (id, content, context, holder, challenge, policy, seen) = match step {
            Step::Admit { id, content, context, holder, challenge, policy, seen } => {
                (*id, *content, *context, *holder, *challenge, policy.to_string(), *seen)
            }
            Step::Revoke(policy) => {
                // A row for each change, and none where nothing changes.
                self.rows += u64::from(self.revoked.insert(policy.to_string()));
                return Answer::Done;
            }
            Step::Record => {
                self.rows += 1;
                return Answer::Done;
            }
        };
        let answer = match self.messages.get(&(context, holder, id)) {
            Some(first) if *first == content => Answer::Refused(Reason::DuplicateMessage),
            Some(_) => Answer::Refused(Reason::MessageIdReused),
            None if self.challenges.contains(&(holder, challenge)) => Answer::Refused(Reason::ChallengeUsed),
            None if self.revoked.contains(&policy) => Answer::Stale,
            None if seen.is_some_and(|seen| self.counts.get(&policy).copied().unwrap_or(0) != seen) => {
                Answer::Stale
            }
            None => Answer::Allowed,
        };
        if answer == Answer::Allowed {
            self.messages.insert((context, holder, id), content);
            self.challenges.insert((holder, challenge));
            *self.counts.entry(policy).or_default() += 1;
        }
        self.rows += u64::from(answer != Answer::Stale);
        answer
    }
}

fn apply(ledger: &SqliteLedger, step: &Step) -> Answer {
    let ask = match step {
        Step::Admit { id, content, context, holder, challenge, policy, seen } => Ask::new(&id.to_string())
            .but(|ask| {
                ask.body.message_digest = Digest::of([*content]);
                ask.body.context = context.map(|context| context.to_string());
                ask.body.holder = Some(holder.to_string());
                ask.challenge = challenge.to_string();
                ask.leans_on = ids(&[&policy.to_string()]);
                ask.exercised = [(policy.to_string(), once(*seen))].into();
            }),
        Step::Revoke(policy) => {
            ledger.mark_revoked(&ids(&[&policy.to_string()]), at(100)).unwrap();
            return Answer::Done;
        }
        Step::Record => {
            ledger.record(refusal_entry(&refused_body())).unwrap();
            return Answer::Done;
        }
    };
    match ask.of(ledger).unwrap() {
        Admission::Admitted(..) => Answer::Allowed,
        Admission::Refused { reason, .. } => Answer::Refused(reason),
        Admission::Stale => Answer::Stale,
    }
}

proptest! {
    #[test]
    fn the_ledger_behaves_as_its_model(steps in steps()) {
        let ledger = SqliteLedger::in_memory_first(DOMAIN, SKEW).unwrap();
        let mut model = Model::default();
        for step in &steps {
            prop_assert_eq!(apply(&ledger, step), model.take(step));
        }
        let snapshot = ledger.snapshot(&nowhere(), at(100)).unwrap();
        prop_assert_eq!((snapshot.counts, snapshot.memory.revoked.ids.clone()), (model.counts, model.revoked));
        prop_assert_eq!(ledger.verify_chain().unwrap().0, model.rows);
    }
}
