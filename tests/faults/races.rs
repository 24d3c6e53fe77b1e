//! Many threads and two processes on one file.

use crate::worker::{Answer, Folder, Worker};
use crate::{example, how_many, proof};
use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use std::time::Instant;

/// Distinct messages in the short and in the long form. Each is decided four times: twice in each process.
const MESSAGES: usize = 504;
const LONG_MESSAGES: usize = 250_000;

/// Messages that are signed ahead, in both processes, and then decided.
const CHUNK: usize = 504;

const PROCESSES: usize = 2;
const TIMES_IN_A_PROCESS: usize = 2;

/// Threads of each process in the short and in the long form.
const THREADS: usize = 32;
const LONG_THREADS: usize = 64;

#[test]
fn of_racing_decisions_in_two_processes_each_message_is_allowed_once() {
    let messages = how_many("WRITGATE_MESSAGES", MESSAGES, LONG_MESSAGES);
    let threads = how_many("WRITGATE_THREADS", THREADS, LONG_THREADS);
    let folder = Folder::new("races");
    let path = folder.file("ledger.db");
    drop(example::create(&path).unwrap());
    let begun = Instant::now();
    let barrier = Barrier::new(PROCESSES);
    let process = |seed: usize| {
        let mut worker = Worker::start();
        assert_eq!(worker.open(&path).last.as_deref(), Some("opened"));
        let mut answers = Vec::new();
        for from in (0..messages).step_by(CHUNK) {
            let to = (from + CHUNK).min(messages);
            worker.order(&format!("sign {from} {to}"));
            assert_eq!(worker.listen().last.as_deref(), Some("signed"));
            // Both have the same messages now.
            barrier.wait();
            worker.order(&format!("decide {from} {to} {TIMES_IN_A_PROCESS} {threads} {}", seed + from));
            let said = worker.listen();
            assert_eq!(said.last.as_deref(), Some("decided"));
            answers.extend(said.answers);
        }
        worker.order("close");
        assert_eq!(worker.listen().last.as_deref(), Some("closed"));
        answers
    };
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let processes: Vec<_> = (0..PROCESSES).map(|seed| scope.spawn(move || process(seed))).collect();
        processes.into_iter().flat_map(|process| process.join().unwrap()).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(answers.len(), messages * PROCESSES * TIMES_IN_A_PROCESS, "every decision is answered");

    let stored = proof::holds(&path, &answers);
    let challenges: HashSet<String> = (0..messages).map(example::challenge).collect();
    let allows = answers.iter().filter(|answer| answer.is_allow()).count();
    let count = |reason| answers.iter().filter(|answer| answer.reason() == Some(reason)).count();
    let (duplicates, used, unavailable) =
        (count("DUPLICATE_MESSAGE"), count("CHALLENGE_USED"), count("LEDGER_UNAVAILABLE"));
    println!(
        "{} decisions in {PROCESSES} processes of {threads} threads, {seconds:.1} s: {allows} allows of {} challenges, \
         {duplicates} duplicates, {used} used challenges, {unavailable} times unavailable",
        answers.len(),
        challenges.len()
    );
    assert_eq!(allows + duplicates + used + unavailable, answers.len(), "no other answer");
    // A process that waits too long for the other one refuses. That is right, but it is not what this test is about.
    assert!(unavailable * 100 < answers.len(), "{unavailable} of {} were not decided", answers.len());
    if unavailable == 0 {
        assert_eq!(allows, challenges.len(), "as many allows as challenges");
        assert_eq!(allows, stored.messages.len(), "as many allows as reserved messages");
        assert_eq!(stored.decisions(), answers.len(), "as many decisions as answers");
    }
    let keys: HashSet<_> = answers.iter().filter(|answer| answer.is_allow()).map(Answer::number).collect();
    assert_eq!(keys.len(), allows, "no message is allowed twice");
    proof::holds_and_goes_on(&path, &[], (0..messages).step_by(messages.div_ceil(100)));
}

/// Two processes take turns, and each knows what the other allowed.
#[test]
fn a_second_process_on_the_same_file_works() {
    let folder = Folder::new("second");
    let path = folder.file("ledger.db");
    drop(example::create(&path).unwrap());
    let mut workers = [Worker::start(), Worker::start()];
    for worker in &mut workers {
        assert_eq!(worker.open(&path).last.as_deref(), Some("opened"));
    }
    let mut answers = Vec::new();
    for number in 0..6 {
        let first = workers[number % 2].decide(number..number + 1).answers;
        let second = workers[1 - number % 2].decide(number..number + 1).answers;
        assert!(first[0].is_allow(), "{first:?}");
        assert_eq!(second[0].reason(), Some("DUPLICATE_MESSAGE"));
        answers.extend(first.into_iter().chain(second));
    }
    for mut worker in workers {
        worker.order("close");
        assert_eq!(worker.listen().last.as_deref(), Some("closed"));
    }
    proof::holds_and_goes_on(&path, &answers, 0..8);
}

/// Another program that keeps the file locked for ever costs refusals, and nothing else. (It takes the busy timeout.)
#[test]
fn a_file_that_stays_locked_refuses_until_it_is_let_go() {
    let folder = Folder::new("locked");
    let path = folder.file("ledger.db");
    let engine = example::engine(Arc::new(example::create(&path).unwrap())).unwrap();
    let mut answers = vec![Answer::of(&engine, 0, example::octets(0))];
    assert!(answers[0].is_allow());
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = Answer::of(&engine, 1, example::octets(1));
    assert_eq!(refused.reason(), Some("LEDGER_UNAVAILABLE"));
    answers.push(refused);
    other.execute_batch("ROLLBACK").unwrap();
    answers.push(Answer::of(&engine, 1, example::octets(1)));
    assert!(answers[2].is_allow());
    answers.push(Answer::of(&engine, 0, example::octets(0)));
    assert_eq!(answers[3].reason(), Some("DUPLICATE_MESSAGE"));
    drop(engine);
    proof::holds_and_goes_on(&path, &answers, 0..4);
}
