//! What a body is made of.

use super::error::FetchError;
use flate2::bufread::GzDecoder;
use std::error::Error as _;
use std::io::{self, ErrorKind, Read as _};

/// Decompresses one GZIP member that ends where its octets do, and no further than the bound.
pub(super) fn decompress(octets: &[u8], bound: usize) -> Result<Vec<u8>, FetchError> {
    let mut decoder = GzDecoder::new(octets);
    let mut decoded = Vec::new();
    // One octet more than allowed tells "at the bound" from "beyond it".
    let most = u64::try_from(bound).unwrap_or(u64::MAX).saturating_add(1);
    decoder.by_ref().take(most).read_to_end(&mut decoded).map_err(|_| FetchError::GzipMalformed)?;
    if decoded.len() > bound {
        return Err(FetchError::DecodedTooLarge);
    }
    // A second member, or anything else that one reader would see and another not.
    if decoder.into_inner().is_empty() { Ok(decoded) } else { Err(FetchError::GzipMalformed) }
}

/// Why a body is not whole.
pub(super) fn error(cause: &hyper::Error) -> FetchError {
    let kind = cause.source().and_then(|inner| inner.downcast_ref::<io::Error>()).map(io::Error::kind);
    match kind {
        Some(ErrorKind::InvalidData | ErrorKind::InvalidInput) => FetchError::BodyMalformed,
        _ => FetchError::BodyTruncated,
    }
}
