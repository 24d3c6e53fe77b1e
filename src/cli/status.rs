//! `writgate status`, and the status entry of a mandate: how an issuer takes back what it signed.

use super::{Exit, Failure, Outcome, key::read_key, output};
use crate::credential::issue::{self, MandateStatus, SigningKey, StatusPurpose};
use crate::limits::Limits;
use crate::rdf::Budget;
use crate::source::is_document_url;
use crate::vocab::cred;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use serde_json::{Map, Value, json};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The least that Bitstring Status List v1.0, 3.2 lets a list have: fewer entries tell too much of who is asked about.
const OCTETS: usize = 131_072 / 8;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Sign a status list: a new one, or an earlier one anew, with more bits set
    ///
    /// The list is to be served at its URL. A server takes a list for an hour from its `validFrom` (`status_age_hours`), so
    /// sign it anew, with `--from`, before that is over.
    Sign {
        /// The key of whoever issues the mandates: a list of somebody else's counts for nothing
        #[arg(long)]
        key: PathBuf,
        /// Where the list is served: an https URL, as the mandates name it with --status-list
        #[arg(long, required_unless_present = "from")]
        url: Option<String>,
        /// The earlier list, whose URL, purpose and set bits are kept
        #[arg(long, conflicts_with_all = ["url", "purpose"])]
        from: Option<PathBuf>,
        /// What a set bit means; for good, or until it is cleared
        #[arg(long, value_enum, default_value_t = Purpose::Revocation)]
        purpose: Purpose,
        /// Set the bit at this index: the mandate with this --status-index is revoked or suspended; may be repeated
        #[arg(long)]
        set: Vec<usize>,
        /// Clear the bit at this index: a suspension is over. A revocation is never taken back; may be repeated
        #[arg(long)]
        clear: Vec<usize>,
        /// Where to write it; standard output if absent
        #[arg(long)]
        out: Option<PathBuf>,
    },
}

/// What a set bit means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Purpose {
    Revocation,
    Suspension,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Revocation => "revocation",
            Self::Suspension => "suspension",
        }
    }
}

/// The status entry of a mandate.
#[derive(Debug, clap::Args)]
pub(crate) struct Entry {
    /// The URL of a status list of the issuer's, by which it can be taken back (see `writgate status sign`)
    #[arg(long, requires = "status_index")]
    status_list: Option<String>,
    /// Its place in that list, which no other mandate has
    #[arg(long, requires = "status_list")]
    status_index: Option<usize>,
    /// What a set bit in that list means
    #[arg(long, value_enum, default_value_t = Purpose::Revocation, requires = "status_list")]
    status_purpose: Purpose,
}

pub(crate) fn run(command: &Command) -> Outcome {
    let Command::Sign { key, url, from, purpose, set, clear, out } = command;
    let key = read_key(key)?;
    let mut list = match (from, url) {
        (Some(path), _) => List::of_file(path, &key)?,
        (None, Some(url)) => List { url: url.clone(), purpose: *purpose, octets: vec![0; OCTETS] },
        (None, None) => return Err(Failure::new("--url or --from is needed")),
    };
    if !clear.is_empty() && list.purpose == Purpose::Revocation {
        return Err(Failure::new(
            "a revocation is never taken back: issue a new mandate, with another index",
        ));
    }
    for (indexes, to) in [(set, true), (clear, false)] {
        for index in indexes {
            list.put(*index, to)?;
        }
    }
    let signed = list.signed(&key)?;
    output::write(out.as_deref(), &serde_json::to_string_pretty(&signed)?)?;
    Ok(Exit::Success)
}

struct List {
    url: String,
    purpose: Purpose,
    octets: Vec<u8>,
}

impl List {
    /// An earlier list of the same issuer's.
    fn of_file(path: &Path, key: &SigningKey) -> Result<Self, Failure> {
        let wrong = |problem: &str| Failure::new(format!("{}: {problem}", path.display()));
        let document = output::read_json(path)?;
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
        if text("/issuer") != Some(key.controller()) {
            return Err(wrong("it is not a status list of the key's controller"));
        }
        let purpose = match text("/credentialSubject/statusPurpose") {
            Some("revocation") => Purpose::Revocation,
            Some("suspension") => Purpose::Suspension,
            _ => return Err(wrong("its purpose is neither revocation nor suspension")),
        };
        let compressed = text("/credentialSubject/encodedList")
            .and_then(|list| URL_SAFE_NO_PAD.decode(list.strip_prefix('u')?).ok())
            .ok_or_else(|| wrong("it has no encodedList, as `writgate status sign` writes it"))?;
        let limit = Limits::default().status_list_decompressed_bytes;
        let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let mut octets = Vec::new();
        GzDecoder::new(compressed.as_slice()).take(bound).read_to_end(&mut octets)?;
        if octets.len() < OCTETS || octets.len() > limit {
            return Err(wrong("its length is not one that a server takes"));
        }
        let url = text("/id").ok_or_else(|| wrong("it has no id"))?.to_owned();
        Ok(Self { url, purpose, octets })
    }

    fn put(&mut self, index: usize, to: bool) -> Result<(), Failure> {
        let bits = self.octets.len().saturating_mul(8);
        let place = index / 8;
        let Some(octet) = self.octets.get_mut(place) else {
            return Err(Failure::new(format!("index {index} is outside the list, which has {bits} entries")));
        };
        let bit = 0x80 >> (index % 8);
        *octet = if to { *octet | bit } else { *octet & !bit };
        Ok(())
    }

    fn signed(&self, key: &SigningKey) -> Result<Value, Failure> {
        document_url(&self.url)?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&self.octets)?;
        let now = chrono::Utc::now();
        let document = json!({
            "@context": [cred::CONTEXT_V2],
            "id": self.url,
            "type": ["VerifiableCredential", "BitstringStatusListCredential"],
            "issuer": key.controller(),
            "validFrom": crate::audit::instant_text(now),
            "credentialSubject": {
                "id": format!("{}#list", self.url),
                "type": "BitstringStatusList",
                "statusPurpose": self.purpose.name(),
                "encodedList": format!("u{}", URL_SAFE_NO_PAD.encode(encoder.finish()?)),
            },
        });
        let options = issue::proof_options(key, "assertionMethod", now);
        let limits = Limits::default();
        Ok(issue::secure(key, object(document)?, options, &limits, &mut Budget::new(&limits))?)
    }
}

impl Entry {
    /// The place in a list that the arguments name, where they name one.
    ///
    /// # Errors
    /// An URL at which no server looks.
    pub(crate) fn of_mandate(&self) -> Result<Option<MandateStatus>, Failure> {
        let (Some(list), Some(index)) = (&self.status_list, self.status_index) else { return Ok(None) };
        document_url(list)?;
        let purpose = match self.status_purpose {
            Purpose::Revocation => StatusPurpose::Revocation,
            Purpose::Suspension => StatusPurpose::Suspension,
        };
        Ok(Some(MandateStatus { list: list.clone(), index, purpose }))
    }
}

fn document_url(url: &str) -> Result<(), Failure> {
    match is_document_url(url) {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{url}: no server looks there: a list has an https URL in normal form, without a fragment, at a host whose \
             name has a dot"
        ))),
    }
}

fn object(value: Value) -> Result<Map<String, Value>, Failure> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Failure::new("the paper is no JSON object")),
    }
}
