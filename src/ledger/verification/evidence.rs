//! Evidence against what the rows say of it.

use super::scratch::{Scratch, Spoken};
use super::{Stop, Verification, shown};
use crate::audit::evidence::ConfigurationEvidence;
use crate::message::Digest;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// Octets of a piece of evidence that are read. A ledger keeps none that is longer.
const MAX_EVIDENCE_BYTES: usize = 64 << 20;
/// Pieces that no row names, of which a note names the digest.
const MAX_NAMED: usize = 20;

pub(super) fn compare(
    connection: &Connection,
    scratch: &Scratch,
    found: &mut Verification,
) -> Result<(), Stop> {
    documents(connection, scratch)?;
    let mut statement = connection.prepare(&format!(
        "SELECT evidence.digest, octet_length(octets),
             CASE WHEN octet_length(octets) <= {MAX_EVIDENCE_BYTES} THEN octets END
         FROM evidence ORDER BY evidence.number"
    ))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let name = shown::row(row, &["digest"]);
        let Some(digest) = super::tables::digest(row.get_ref(0)?) else {
            found.find("evidence", name, None, "its digest is not of 32 octets");
            continue;
        };
        let spoken = scratch.evidence_seen(digest)?;
        match (row.get_ref(1)?, row.get_ref(2)?) {
            (ValueRef::Null, _) => match spoken {
                Some(Spoken { is_erased: true, .. }) => {}
                Some(Spoken { kept, is_erased: false }) => {
                    found.find(
                        "evidence",
                        name,
                        kept,
                        "its octets are gone, and no row says that they were erased",
                    );
                }
                None => found.find("evidence", name, None, "it has no octets, and no row names it"),
            },
            (_, ValueRef::Blob(octets)) if Digest::of(octets) == digest => mention(octets, scratch)?,
            (_, ValueRef::Null) => found.find("evidence", name, None, "it is longer than any that is kept"),
            _ => {
                let kept = spoken.and_then(|spoken| spoken.kept);
                found.find("evidence", name, kept, "its octets do not hash to its digest");
            }
        }
    }
    scratch.each_missing_evidence(|digest, sequence| {
        found.find(
            "evidence",
            format!("digest 0x{digest}"),
            sequence,
            "the row says that it is kept, or rests on it, and it is missing",
        );
    })?;
    unnamed(connection, scratch, found)
}

/// The documents of the configurations that rows were decided by are kept with them.
fn documents(connection: &Connection, scratch: &Scratch) -> Result<(), Stop> {
    let mut statement = connection.prepare(&format!(
        "SELECT octets FROM evidence WHERE digest = ?1 AND octet_length(octets) <= {MAX_EVIDENCE_BYTES}"
    ))?;
    scratch.each_configuration(|manifest, sequence| {
        let mut rows = statement.query((manifest.as_bytes(),))?;
        let Some(row) = rows.next()? else { return Ok(()) };
        // Octets that are not the manifest's are found where all evidence is compared.
        let Ok(octets) = row.get_ref(0)?.as_blob() else { return Ok(()) };
        if Digest::of(octets) != manifest {
            return Ok(());
        }
        for document in ConfigurationEvidence::documents(octets) {
            scratch.evidence_kept(document, sequence)?;
        }
        Ok::<_, Stop>(())
    })
}

/// Evidence names further evidence by its digest: a configuration its documents.
fn mention(octets: &[u8], scratch: &Scratch) -> Result<(), Stop> {
    let is_digit = |octet: &u8| matches!(octet, b'0'..=b'9' | b'a'..=b'f');
    for word in octets.split(|octet| !is_digit(octet)).filter(|word| word.len() == 64) {
        if let Some(digest) = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()) {
            scratch.mention(digest)?;
        }
    }
    Ok(())
}

/// What nobody names may have been kept before the first decision that needs it, and changes nothing: it is noted.
fn unnamed(connection: &Connection, scratch: &Scratch, found: &mut Verification) -> Result<(), Stop> {
    let mut statement = connection.prepare("SELECT digest FROM evidence WHERE octets IS NOT NULL")?;
    let mut rows = statement.query(())?;
    let (mut named, mut further) = (Vec::new(), 0_u64);
    while let Some(row) = rows.next()? {
        let Some(digest) = super::tables::digest(row.get_ref(0)?) else { continue };
        if scratch.evidence_seen(digest)?.is_some() || scratch.is_mentioned(digest)? {
            continue;
        }
        match named.len() < MAX_NAMED {
            true => named.push(digest),
            false => further = further.saturating_add(1),
        }
    }
    found.notes.extend(
        named
            .into_iter()
            .map(|digest| format!("evidence 0x{digest} is kept, and no row or other evidence names it")),
    );
    if further > 0 {
        found.notes.push(format!("{further} further pieces of evidence are named by nobody"));
    }
    Ok(())
}
