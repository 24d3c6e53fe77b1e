//! Group commit: one wait for the disk for all, and the errors of one stay its own.

use super::*;
use crate::ledger::conformance::{Ask, DOMAIN, Folder, SKEW, admitted, at, once, refused};
use crate::ledger::{Exercise, Ledger as _};
use std::sync::Barrier;

/// Queues what `asks` want and has it written as one group, as if they had all come while another group was written.
fn as_one_group(ledger: &SqliteLedger, asks: Vec<Ask>) -> Vec<Result<Answer, LedgerError>> {
    let slots: Vec<Arc<Slot>> = asks
        .into_iter()
        .map(|ask| {
            let slot = Arc::new(Slot::default());
            ledger.queue.push((Work::admit(ask.candidate()).unwrap(), Arc::clone(&slot))).unwrap();
            slot
        })
        .collect();
    let mut connection = ledger.lock().unwrap();
    let group = ledger.queue.take().unwrap();
    assert_eq!(group.len(), slots.len());
    ledger.write_group(&mut connection, group).unwrap();
    slots.into_iter().map(|slot| slot.lock().unwrap().take().unwrap()).collect()
}

fn admission(answer: Result<Answer, LedgerError>) -> Result<Admission, LedgerError> {
    match answer? {
        Answer::Admission(admission) => Ok(admission),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_group_is_judged_one_after_the_other() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    let counted =
        |name: &str| Ask::new(name).but(|ask| ask.exercised = [("p".to_owned(), once(Some(0)))].into());
    let mut answers = as_one_group(
        &ledger,
        vec![
            Ask::new("m"),
            Ask::new("m").but(|_| ()),
            Ask::new("n").but(|ask| ask.challenge = Ask::new("m").challenge),
            counted("o"),
            counted("p"),
        ],
    )
    .into_iter()
    .map(admission);
    assert_eq!(admitted(answers.next().unwrap()).0.sequence(), 1);
    assert_eq!(refused(answers.next().unwrap()).0, Reason::DuplicateMessage);
    assert_eq!(refused(answers.next().unwrap()).0, Reason::ChallengeUsed);
    assert_eq!(admitted(answers.next().unwrap()).0.sequence(), 4);
    assert!(matches!(answers.next().unwrap(), Ok(Admission::Stale)), "the count moved within the group");
    assert_eq!(folder.reopened().verify_chain().unwrap().0, 4);
}

#[test]
fn what_fails_in_a_group_fails_alone_and_leaves_nothing() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    let twice = Ask::new("n");
    let id = Ask { decision_id: Ask::new("m").decision_id, ..twice };
    let first = Ask { decision_id: id.decision_id.clone(), ..Ask::new("m") };
    // The second has the first's decision id, and has counted before it is refused for it; the third counts too.
    let count = |ask: Ask| {
        ask.but(|_| ())
            .but(|ask| ask.exercised = [("p".to_owned(), Exercise { times: 1, rests_on: None })].into())
    };
    let id = Ask { decision_id: first.decision_id.clone(), ..count(id) };
    let answers = as_one_group(&ledger, vec![first, id, count(Ask::new("o"))]);
    let mut answers = answers.into_iter().map(admission);
    admitted(answers.next().unwrap());
    assert!(matches!(answers.next().unwrap(), Err(LedgerError::Store(_))));
    let (third, report) = admitted(answers.next().unwrap());
    assert_eq!((third.sequence(), report.envelope.changes.len()), (2, 1));
    let reopened = folder.reopened();
    assert_eq!(reopened.verify_chain().unwrap().0, 2);
    assert_eq!(reopened.snapshot(&crate::ledger::conformance::nowhere(), at(100)).unwrap().counts["p"], 1);
    admitted(Ask::new("n").of(&reopened));
}

#[test]
fn where_the_transaction_fails_all_of_the_group_fail() {
    let folder = Folder::new();
    let ledger = folder.ledger();
    ledger.lock().unwrap().pragma_update(None, "query_only", true).unwrap();
    let answers = as_one_group(&ledger, vec![Ask::new("m"), Ask::new("n")]);
    assert!(answers.into_iter().all(|answer| matches!(answer, Err(LedgerError::Store(_)))));
    ledger.lock().unwrap().pragma_update(None, "query_only", false).unwrap();
    admitted(Ask::new("m").of(&ledger));
    assert_eq!(folder.reopened().verify_chain().unwrap().0, 1);
}

#[test]
fn what_queues_behind_a_group_is_taken_by_the_next() {
    const DECISIONS: usize = 3 * MAX_GROUP;
    let folder = Folder::new();
    let ledger = SqliteLedger::create(&folder.file(), DOMAIN, true, at(0), SKEW).unwrap();
    let barrier = Barrier::new(DECISIONS + 1);
    std::thread::scope(|scope| {
        let (ledger, barrier) = (&ledger, &barrier);
        for number in 0..DECISIONS {
            scope.spawn(move || {
                barrier.wait();
                admitted(Ask::new(&number.to_string()).of(ledger));
            });
        }
        barrier.wait();
    });
    assert_eq!(ledger.verify_chain().unwrap().0, u64::try_from(DECISIONS).unwrap());
}
