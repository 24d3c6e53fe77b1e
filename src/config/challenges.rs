//! `[challenges]`: the issuer of challenges, from a file that holds its secret. The secret is no part of [`super::Config`],
//! so neither its digest nor any report depends on it.

use super::ConfigError;
use super::file::ConfigFile;
use crate::credential::ChallengeIssuer;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use p256::elliptic_curve::zeroize::Zeroizing;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Octets of a key file: the base64url of the secret (43), and white space after it.
const MAX_FILE_OCTETS: u64 = 64;

/// What challenges are issued by.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChallengeSettings {
    /// The file that `writgate challenge key` made.
    key: PathBuf,
    /// Seconds that a challenge is good for.
    life_seconds: Option<u32>,
}

impl ConfigFile {
    /// The issuer of challenges, for [`crate::Engine::with_challenges`]; `None` where the file has no `[challenges]`.
    ///
    /// # Errors
    /// [`ConfigError`] for a life out of bounds, and a key file that is not there, is no secret, or can be read by others.
    pub fn challenge_issuer(&self) -> Result<Option<ChallengeIssuer>, ConfigError> {
        let Some(ChallengeSettings { key, life_seconds }) = &self.challenges else { return Ok(None) };
        let path = self.base.join(key);
        let issuer =
            read_secret(&path).map_err(|problem| ConfigError::new(path.display().to_string(), problem))?;
        let life =
            life_seconds.map_or(ChallengeIssuer::DEFAULT_LIFE, |seconds| TimeDelta::seconds(seconds.into()));
        let issuer = issuer
            .with_life(life)
            .map_err(|cause| ConfigError::new("challenges.life_seconds", cause.to_string()))?;
        Ok(Some(issuer))
    }
}

fn read_secret(path: &Path) -> Result<ChallengeIssuer, String> {
    let no_key = "is no challenge key; `writgate challenge key --out FILE` makes one";
    let file = File::open(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => "is not there; `writgate challenge key --out FILE` makes one".to_owned(),
        _ => cause.to_string(),
    })?;
    // Of the file that is open, so that it cannot be another one by the time it is read.
    let metadata = file.metadata().map_err(|cause| cause.to_string())?;
    if !metadata.is_file() {
        return Err(no_key.to_owned());
    }
    if others_may_open(&metadata) {
        return Err(
            "can be opened by others than its owner, who could then make challenges: `chmod 600` it".into()
        );
    }
    let mut text = Zeroizing::new(String::with_capacity(MAX_FILE_OCTETS as usize + 1));
    file.take(MAX_FILE_OCTETS + 1).read_to_string(&mut text).map_err(|_| no_key.to_owned())?;
    let octets =
        URL_SAFE_NO_PAD.decode(text.trim_end()).map(Zeroizing::new).map_err(|_| no_key.to_owned())?;
    let secret = octets.as_slice().try_into().map_err(|_| no_key.to_owned())?;
    Ok(ChallengeIssuer::new(secret))
}

#[cfg(unix)]
fn others_may_open(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

/// Who may read a file is not known by its mode elsewhere.
#[cfg(not(unix))]
fn others_may_open(_: &std::fs::Metadata) -> bool {
    false
}

/// The text of a new key file.
pub(crate) fn new_secret() -> Result<Zeroizing<String>, getrandom::Error> {
    let mut octets = Zeroizing::new([0; ChallengeIssuer::SECRET_OCTETS]);
    getrandom::fill(octets.as_mut_slice())?;
    Ok(Zeroizing::new(URL_SAFE_NO_PAD.encode(octets.as_slice())))
}
