//! What peers offer: Protocol Documents to be fetched later, by whoever refreshes.
//!
//! A peer that could tell what becomes of its offers could map the hosts that this server reaches. So [`want`] tells
//! nothing and does the same for every offer: it copies two texts and hands them to a thread, without a look at the host,
//! the disk or the queue's length. Whether the host may be asked, whether the document is here already and what makes room
//! is that thread's business, off the path of the message; it then answers nobody.
//!
//! [`want`]: OfferedDocuments::want

use super::address::{host, is_document_url};
use super::cache::{DocumentCache, OfferedDocument, SourceError};
use super::{DocumentQueue, FetchHosts};
use crate::engine::Clock;
use crate::protocol::ProtocolHash;
use crate::protocol::handshake::ProtocolSource;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Offers that wait for the disk. More than that at one time are lost, and may be made again.
const MAX_PENDING: usize = 64;

enum Order {
    Want(ProtocolSource, ProtocolHash),
    /// Answered when all that was wanted before is on disk.
    Settle(std::sync::mpsc::Sender<()>),
}

/// The queue of Protocol Documents that peers offered. It is durable, a moment after each offer; what it holds and how much
/// is the cache's (see `docs/inputs.md`).
pub struct OfferedDocuments {
    cache: DocumentCache,
    orders: Option<SyncSender<Order>>,
    writer: Option<JoinHandle<()>>,
    problem: Arc<Mutex<Option<SourceError>>>,
}

impl std::fmt::Debug for OfferedDocuments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OfferedDocuments").field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl OfferedDocuments {
    /// The queue in a cache, for documents of these hosts. Offers are dated by `clock`.
    ///
    /// # Errors
    /// [`SourceError`]: no thread for it.
    pub fn open(cache: DocumentCache, hosts: FetchHosts, clock: Arc<dyn Clock>) -> Result<Self, SourceError> {
        let (orders, received) = sync_channel(MAX_PENDING);
        let problem = Arc::new(Mutex::new(None));
        let writer = Writer { cache: cache.clone(), hosts, clock, problem: Arc::clone(&problem) };
        let writer = std::thread::Builder::new()
            .name("writgate-offers".to_owned())
            .spawn(move || writer.run(&received))
            .map_err(|cause| SourceError::new("the queue of offers", cause))?;
        Ok(Self { cache, orders: Some(orders), writer: Some(writer), problem })
    }

    /// Queues a document to be fetched, perhaps. There is no answer, and no difference to be seen, whatever comes of it
    /// (`message-binding.md` 3).
    pub fn want(&self, source: &ProtocolSource, hash: &ProtocolHash) {
        if let Some(orders) = &self.orders {
            // Where too many wait already, this one is lost: its peer was promised nothing.
            let _ = orders.try_send(Order::Want(source.clone(), hash.clone()));
        }
    }

    /// What is queued on disk, when all that was wanted before is there.
    ///
    /// # Errors
    /// [`SourceError`], also for an offer that could not be written since the last call.
    pub fn list(&self) -> Result<Vec<OfferedDocument>, SourceError> {
        let lost = || SourceError::new("the queue of offers", "its thread has ended");
        let (settled, answer) = channel();
        let orders = self.orders.as_ref().ok_or_else(lost)?;
        orders.send(Order::Settle(settled)).map_err(|_| lost())?;
        answer.recv().map_err(|_| lost())?;
        let mut problem = self.problem.lock().map_err(|_| lost())?;
        match problem.take() {
            Some(problem) => Err(problem),
            None => self.cache.offered(),
        }
    }
}

impl DocumentQueue for OfferedDocuments {
    fn want(&self, source: &ProtocolSource, hash: &ProtocolHash) {
        Self::want(self, source, hash);
    }
}

impl Drop for OfferedDocuments {
    /// What waits is written before the queue goes.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the thread of the queue of offers panicked");
        }
    }
}

struct Writer {
    cache: DocumentCache,
    hosts: FetchHosts,
    clock: Arc<dyn Clock>,
    problem: Arc<Mutex<Option<SourceError>>>,
}

impl Writer {
    fn run(&self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Want(source, hash) => {
                    if let Err(problem) = self.want(source.as_str(), hash) {
                        tracing::warn!(%problem, "an offered document is not queued");
                        if let Ok(mut last) = self.problem.lock() {
                            *last = Some(problem);
                        }
                    }
                }
                // Who asked may have gone.
                Order::Settle(settled) => drop(settled.send(())),
            }
        }
    }

    fn want(&self, url: &str, hash: ProtocolHash) -> Result<(), SourceError> {
        let is_wanted = is_document_url(url) && self.hosts.may_be_asked(url);
        if !is_wanted || self.cache.pins()?.contains(&hash) {
            return Ok(());
        }
        tracing::debug!(host = host(url), "an offered document is queued");
        self.cache.queue_offer(&OfferedDocument { url: url.to_owned(), hash, offered: self.clock.now() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Instant;

    #[derive(Debug)]
    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> Instant {
            "2026-12-01T12:00:00Z".parse().unwrap()
        }
    }

    fn hash(digit: char) -> ProtocolHash {
        format!("sha256:{}", digit.to_string().repeat(64)).parse().unwrap()
    }

    struct Temporary(std::path::PathBuf, OfferedDocuments);

    fn queue() -> Temporary {
        let folder = std::env::temp_dir().join(format!("writgate-offers-{}", uuid::Uuid::new_v4()));
        let cache = DocumentCache::create(&folder).unwrap();
        let mut hosts = FetchHosts::none();
        assert!(hosts.add("a.example") && hosts.add("b.example"));
        hosts.add_port("b.example", 8443);
        hosts.add_port("c.example", 8443);
        Temporary(folder, OfferedDocuments::open(cache, hosts, Arc::new(Noon)).unwrap())
    }

    impl Temporary {
        fn want(&self, source: &str, digit: char) {
            // As the engine calls it.
            let queue: &dyn DocumentQueue = &self.1;
            queue.want(&source.parse().unwrap(), &hash(digit));
        }

        fn urls(&self) -> Vec<String> {
            self.1.list().unwrap().into_iter().map(|offer| offer.url).collect()
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn offers_are_queued_for_allowed_hosts_alone() {
        let queue = queue();
        for source in [
            "https://a.example/p",
            "https://b.example:8443/p",
            // None of these.
            "https://a.example:8443/p",
            "https://c.example:8443/p",
            "https://c.example/p",
            "https://sub.a.example/p",
            "https://a.example.evil.example/p",
            "https://A.example/p",
            "https://a.example/p#x",
            "https://a.example/x/../p",
            "https://10.0.0.1/p",
            "https://[::1]/p",
            "https://localhost/p",
        ] {
            queue.want(source, '1');
        }
        assert_eq!(queue.urls(), ["https://a.example/p", "https://b.example:8443/p"]);
        queue.want("https://a.example/p", '1');
        queue.want("https://a.example/p", '2');
        assert_eq!(queue.urls().len(), 3, "one document once, whatever its URL");
    }

    #[test]
    fn a_document_that_is_here_is_not_queued() {
        let queue = queue();
        std::fs::write(queue.0.join(format!("{}.protocol", "1".repeat(64))), "").unwrap();
        queue.want("https://a.example/p", '1');
        queue.want("https://a.example/p", '2');
        assert_eq!(
            queue.1.list().unwrap().iter().map(|offer| offer.hash.clone()).collect::<Vec<_>>(),
            [hash('2')]
        );
    }

    #[test]
    fn what_was_wanted_is_on_disk_when_the_queue_goes() {
        let mut queue = queue();
        queue.want("https://a.example/p", '1');
        queue.1.orders = None;
        queue.1.writer.take().unwrap().join().unwrap();
        let cache = DocumentCache::open(&queue.0).unwrap();
        let offered = Noon.now();
        let expected = OfferedDocument { url: "https://a.example/p".into(), hash: hash('1'), offered };
        assert_eq!(cache.offered().unwrap(), [expected]);
    }

    #[test]
    fn want_reaches_for_no_disk_and_waits_for_nobody() {
        let queue = queue();
        // The writer waits for its turn, which somebody else has: a thousand offers come back all the same, and those
        // that are kept are no more than wait at one time, with the one in hand.
        let turn = std::fs::File::create(queue.0.join(".lock")).unwrap();
        turn.lock().unwrap();
        for n in 0..1_000 {
            queue.want(&format!("https://a.example/{n}"), '1');
            queue.want(&format!("https://internal.example/{n}"), '1');
        }
        assert_eq!(DocumentCache::open(&queue.0).unwrap().offered().unwrap(), []);
        drop(turn);
        let kept = queue.urls();
        assert!((1..=8).contains(&kept.len()), "{kept:?}");
    }

    #[test]
    fn an_offer_that_cannot_be_written_is_a_problem_of_the_operator_alone() {
        let queue = queue();
        std::fs::write(queue.0.join("x.offer"), "no offer").unwrap();
        queue.want("https://a.example/p", '1');
        assert!(queue.1.list().unwrap_err().what.ends_with("x.offer"));
        std::fs::remove_file(queue.0.join("x.offer")).unwrap();
        queue.want("https://a.example/p", '1');
        assert_eq!(queue.urls().len(), 1);
    }
}
