//! `kill -9` at random moments under load.

use crate::worker::{Answer, Chance, Folder, Worker};
use crate::{example, how_many, proof};

/// Kills in the short and in the long form.
const KILLS: usize = 15;
const LONG_KILLS: usize = 1_000;

/// Kills of one file, after which a new one begins: each round reads the whole of it.
const KILLS_OF_A_FILE: usize = 40;

/// Messages that are new in a round. As many of the round before are sent again with them.
const FRESH: usize = 24;

const THREADS: usize = 8;

#[test]
fn a_process_killed_at_random_moments_loses_no_answered_decision() {
    let kills = how_many("WRITGATE_KILLS", KILLS, LONG_KILLS);
    let mut chance = Chance::of_this_run();
    let (mut answered, mut allowed, mut unanswered, mut idle) = (0, 0, 0, 0);
    for file in 0..kills.div_ceil(KILLS_OF_A_FILE) {
        let folder = Folder::new("kills");
        let path = folder.file("ledger.db");
        drop(example::create(&path).unwrap());
        let mut answers: Vec<Answer> = Vec::new();
        let rounds = KILLS_OF_A_FILE.min(kills - file * KILLS_OF_A_FILE);
        for round in 0..rounds {
            let new = killed_in_its_round(&path, round, &mut chance);
            idle += usize::from(new.is_none());
            answers.extend(new.unwrap_or_default());
            let stored = proof::holds(&path, &answers);
            every_refusal_has_its_reason(&answers, &stored);
        }
        let stored = proof::holds(&path, &answers);
        answered += answers.len();
        let allows = answers.iter().filter(|answer| answer.is_allow()).count();
        allowed += allows;
        unanswered += stored.decisions() - answers.len();
        proof::holds_and_goes_on(&path, &answers, 0..(rounds + 1) * FRESH);
    }
    println!(
        "{kills} kills: {answered} answers, {allowed} of them allows; {unanswered} rows whose answer nobody heard; \
         {idle} kills came after the last answer"
    );
    assert!(idle * 2 < kills, "the kills do not strike under load");
    assert!(unanswered > 0 || kills < 100, "no kill came between a record and its answer");
}

/// One worker, killed after a random number of answers and a random spin. What it answered, or `None` if it had come to
/// its end before.
fn killed_in_its_round(path: &std::path::Path, round: usize, chance: &mut Chance) -> Option<Vec<Answer>> {
    let mut worker = Worker::start();
    // Now and then while it opens the ledger, where a WAL that was left behind is read.
    let opens_only = chance.below(10) == 0;
    worker.order(&format!("sign {} {}", round.saturating_sub(1) * FRESH, (round + 1) * FRESH));
    worker.listen();
    worker.order(&format!("open {}", path.display()));
    if !opens_only {
        assert_eq!(worker.listen().last.as_deref(), Some("opened"), "after {round} kills");
    }
    let (from, to, seed) = (round.saturating_sub(1) * FRESH, (round + 1) * FRESH, chance.below(1 << 20));
    worker.order(&format!("decide {from} {to} 2 {THREADS} {seed}"));
    let mut answers = Vec::new();
    if !opens_only {
        answers = worker.listen_until(1 + chance.below((to - from) * 2 - 1)).answers;
    }
    for _ in 0..chance.below(200_000) {
        std::hint::spin_loop();
    }
    answers.extend(worker.kill());
    (answers.len() < (to - from) * 2).then_some(answers)
}

/// A refusal is of a message that was allowed, or whose challenge was consumed: by whom it was, the ledger knows.
fn every_refusal_has_its_reason(answers: &[Answer], stored: &proof::Stored) {
    for answer in answers {
        let Answer::Refuse { number, reason, sequence, .. } = answer else { continue };
        let challenge = stored.challenges.get(&example::challenge(*number));
        let earlier = match reason.as_str() {
            "DUPLICATE_MESSAGE" => stored.messages.get(&example::key_of(*number)),
            "CHALLENGE_USED" => challenge,
            _ => panic!("{answer:?}"),
        };
        assert!(earlier.is_some_and(|earlier| earlier < sequence), "{answer:?} after {earlier:?}");
    }
}
