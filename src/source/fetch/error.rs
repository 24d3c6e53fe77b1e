//! Why nothing was had from a URL.

use std::io::ErrorKind;

/// Why a document was not fetched: one variant for each cause.
///
/// For the operator's log. No variant holds text of the peer or an address, but which variant it is tells apart what a
/// name resolves to, so none of it may be sent to whoever chose the URL (threat 42).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    // What the operator configured.
    /// A host of [`FetchPolicy::allow_port`](super::FetchPolicy::allow_port) that no document URL can have.
    #[error("a port is allowed for a host that is no name in normal form, or it is port 0")]
    AllowedPortMalformed,
    /// Trust anchors that are not PEM certificates.
    #[error("the trust anchors are not certificates in PEM")]
    TrustAnchorsMalformed,
    /// A limit that is zero, or higher than one can be.
    #[error("the limit {limit} is out of its range")]
    LimitOutOfRange {
        /// The field of [`FetchLimits`](super::FetchLimits).
        limit: &'static str,
    },
    /// The TLS library takes none of its own protocol versions.
    #[error("TLS cannot be configured")]
    TlsConfiguration,
    /// Called outside a tokio runtime.
    #[error("there is no runtime to fetch in")]
    NoRuntime,

    // The URL.
    /// The scheme is another than https (SEC-7).
    #[error("the URL is not https")]
    NotHttps,
    /// Not in normal form, with userinfo or a fragment, or at an IP literal or a single label.
    #[error("the URL is not one that a document is kept under")]
    NotADocumentUrl,
    /// A port that was not allowed for this host.
    #[error("the URL has a port that is not allowed for its host")]
    PortNotAllowed,
    /// What the caller knows about the document is not a validator.
    #[error("what is known of the document is no validator")]
    ValidatorMalformed,

    // The way there.
    /// The name was not resolved.
    #[error("the host was not resolved ({kind})")]
    ResolutionFailed {
        /// What the system said.
        kind: ErrorKind,
    },
    /// The name has no address, or more than are looked at.
    #[error("the host has no address, or too many")]
    AddressCount,
    /// At least one address of the name is not global unicast (SEC-8).
    #[error("the host has an address that is not dialled")]
    AddressForbidden,
    /// No address answered.
    #[error("no connection was made ({kind})")]
    ConnectFailed {
        /// What the system said of the last address.
        kind: ErrorKind,
    },
    /// The connected peer has another address than the one that was checked.
    #[error("the connection leads to another address than the one that was dialled")]
    PeerAddressChanged,
    /// No secured connection within [`FetchLimits::connect_seconds`](super::FetchLimits::connect_seconds).
    #[error("no secured connection was made in time")]
    ConnectTimeout,
    /// The certificate is for another name than the URL's host.
    #[error("the certificate is for another name")]
    CertificateOfAnotherName,
    /// The certificate leads to no trust anchor.
    #[error("the certificate leads to no trust anchor")]
    CertificateUntrusted,
    /// The certificate is expired, or otherwise not to be used.
    #[error("the certificate is not valid")]
    CertificateInvalid,
    /// The peer does not speak TLS as we do.
    #[error("TLS failed")]
    TlsFailed,

    // The answer.
    /// The answer's head is not there within [`FetchLimits::header_seconds`](super::FetchLimits::header_seconds).
    #[error("the head of the answer did not come in time")]
    HeaderTimeout,
    /// Not done within [`FetchLimits::total_seconds`](super::FetchLimits::total_seconds).
    #[error("the document did not come in time")]
    TotalTimeout,
    /// The head has more octets or fields than are read.
    #[error("the head of the answer is too large")]
    HeaderTooLarge,
    /// More octets came in all than any answer within the other bounds needs.
    #[error("too many octets came for what they say")]
    TransferTooLarge,
    /// Not an HTTP/1 answer.
    #[error("the answer is not HTTP")]
    NotHttp,
    /// The connection ended before the head did.
    #[error("the connection ended without an answer")]
    ClosedEarly,
    /// More than one reading of where the body ends.
    #[error("the answer says in two ways where its body ends")]
    FramingAmbiguous,

    // What the answer is.
    /// A redirect, which is not followed.
    #[error("the answer is a redirect ({status})")]
    Redirected {
        /// The status.
        status: u16,
    },
    /// A redirect without one readable `Location`.
    #[error("the answer is a redirect to no document URL")]
    RedirectMalformed,
    /// A redirect to another scheme, host or port (SEC-10).
    #[error("the answer is a redirect to another origin")]
    RedirectCrossOrigin,
    /// More redirects than are followed.
    #[error("there are too many redirects")]
    RedirectTooMany,
    /// Not modified, without having been asked.
    #[error("the answer says that nothing changed, and was not asked")]
    NotModifiedUnasked,
    /// Another status than 200.
    #[error("the answer has the status {status}")]
    Status {
        /// The status.
        status: u16,
    },
    /// A document without a media type.
    #[error("the document has no media type")]
    ContentTypeMissing,
    /// A media type that is none, has too many octets, or is there twice.
    #[error("the document's media type is not readable")]
    ContentTypeMalformed,
    /// A coding other than one of GZIP.
    #[error("the document has a coding that is not read")]
    ContentEncodingUnsupported,

    // The body.
    /// More octets than a document of this kind may have (SEC-9).
    #[error("the document is too large")]
    BodyTooLarge,
    /// Fewer octets than were announced.
    #[error("the document was cut off")]
    BodyTruncated,
    /// Chunks that are none.
    #[error("the document's transfer is not readable")]
    BodyMalformed,
    /// GZIP that is none, or has something after it.
    #[error("the document's GZIP is not readable")]
    GzipMalformed,
    /// More octets than allowed, once decompressed (SEC-9).
    #[error("the document is too large once it is decompressed")]
    DecodedTooLarge,
}
