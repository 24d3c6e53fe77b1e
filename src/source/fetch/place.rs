//! Where a URL leads: host, port and request target.

use super::error::FetchError;
use super::policy::HTTPS_PORT;
use crate::source::address::is_document_url;

/// A document URL, taken apart. Only a URL that passed [`is_document_url`] is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub host: String,
    pub port: u16,
    /// Host and, where it is not 443, port: the `Host` field.
    pub authority: String,
    /// Path and query.
    pub target: String,
}

impl Place {
    pub(super) fn of(url: &str) -> Result<Self, FetchError> {
        let Some(rest) = url.strip_prefix("https://") else {
            let https = url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
            return Err(if https { FetchError::NotADocumentUrl } else { FetchError::NotHttps });
        };
        if !is_document_url(url) {
            return Err(FetchError::NotADocumentUrl);
        }
        // Normal form has a path that begins with a slash.
        let (authority, target) = rest.split_once('/').ok_or(FetchError::NotADocumentUrl)?;
        let (host, port) = match authority.split_once(':') {
            None => (authority, HTTPS_PORT),
            Some((host, port)) => (host, port.parse().map_err(|_| FetchError::NotADocumentUrl)?),
        };
        Ok(Self {
            host: host.to_owned(),
            port,
            authority: authority.to_owned(),
            target: format!("/{target}"),
        })
    }

    /// Where a `Location` of this place leads, which must be here again: an absolute URL, or a path from the root.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, FetchError> {
        let url = match location.strip_prefix('/') {
            // `//host/` names another authority.
            Some(rest) if !rest.starts_with('/') => format!("https://{}{location}", self.authority),
            Some(_) => return Err(FetchError::RedirectCrossOrigin),
            None => location.to_owned(),
        };
        let next = match Self::of(&url) {
            Ok(next) => next,
            Err(FetchError::NotHttps) if location.contains("://") => {
                return Err(FetchError::RedirectCrossOrigin);
            }
            Err(_) => return Err(FetchError::RedirectMalformed),
        };
        let same = next.host == self.host && next.port == self.port;
        if same { Ok(next) } else { Err(FetchError::RedirectCrossOrigin) }
    }
}
