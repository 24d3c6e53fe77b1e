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
    pub fn open(
        cache: DocumentCache,
        hosts: FetchHosts,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SourceError> {
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
