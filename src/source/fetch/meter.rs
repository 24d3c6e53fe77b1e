//! A connection that ends when more octets came than any good answer has.
//!
//! It stands below TLS, so what it counts is everything that a peer can make us take: handshake, records without
//! content, interim answers, chunk extensions, trailers. Nothing behind it need be trusted to have a bound of its own.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};

/// What is left, seen from outside the connection.
#[derive(Debug, Clone)]
pub(super) struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    pub(super) fn of(octets: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(octets)))
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.left() == 0
    }

    pub(super) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection under an allowance.
#[derive(Debug)]
pub(super) struct Metered<T> {
    // Takes no octet beyond its limit from the system, so what a peer sends beyond it stays with the peer.
    inner: Take<T>,
    allowance: Allowance,
}

impl<T: AsyncRead> Metered<T> {
    pub(super) fn new(inner: T, allowance: Allowance) -> Self {
        let octets = u64::try_from(allowance.left()).unwrap_or(u64::MAX);
        Self { inner: inner.take(octets), allowance }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Metered<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.inner.limit() == 0 {
            // Not an end: a body that ends with its connection would pass for whole.
            return Poll::Ready(Err(io::Error::other("the allowance is used up")));
        }
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let left = usize::try_from(self.inner.limit()).unwrap_or(usize::MAX);
        self.allowance.0.store(left, Ordering::Relaxed);
        polled
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Metered<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.inner.get_mut()).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.inner.get_mut()).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.inner.get_mut()).poll_shutdown(context)
    }
}
