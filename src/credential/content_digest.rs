//! Digests of content that a credential points to: `digestSRI` and `digestMultibase`, each in one accepted spelling.

use super::key::{decode_base58btc, encode_base58btc};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// No accepted digest is longer: SHA-512 as a multihash in hexadecimal has 133 characters.
const DIGEST_CHARS: usize = 160;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Sha256,
    Sha384,
    Sha512,
}

/// A digest by a known algorithm, of that algorithm's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContentDigest {
    algorithm: Algorithm,
    octets: Vec<u8>,
}

impl ContentDigest {
    /// Reads `digestSRI`: one hash, `sha256-`, `sha384-` or `sha512-` and padded standard base64, nothing after it.
    pub(super) fn parse_sri(text: &str) -> Option<Self> {
        let (name, encoded) = text.split_once('-')?;
        let algorithm = match name {
            "sha256" => Algorithm::Sha256,
            "sha384" => Algorithm::Sha384,
            "sha512" => Algorithm::Sha512,
            _ => return None,
        };
        if encoded.len() > DIGEST_CHARS {
            return None;
        }
        Self::new(algorithm, STANDARD.decode(encoded).ok()?)
    }

    /// Reads `digestMultibase`: a sha2-256, sha2-384 or sha2-512 multihash in base58btc (`z`), base64url (`u`), base64
    /// (`m`) or lower-case hexadecimal (`f`), without padding.
    pub(super) fn parse_multibase(text: &str) -> Option<Self> {
        if text.len() > DIGEST_CHARS {
            return None;
        }
        let mut characters = text.chars();
        let base = characters.next()?;
        let encoded = characters.as_str();
        let octets = match base {
            'z' => decode_base58btc(text, DIGEST_CHARS)?,
            'u' => URL_SAFE_NO_PAD.decode(encoded).ok()?,
            'm' => STANDARD_NO_PAD.decode(encoded).ok()?,
            'f' => decode_hexadecimal(encoded)?,
            _ => return None,
        };
        let ([code, length], digest) = octets.split_first_chunk::<2>()?;
        let algorithm = match code {
            0x12 => Algorithm::Sha256,
            0x20 => Algorithm::Sha384,
            0x13 => Algorithm::Sha512,
            _ => return None,
        };
        if usize::from(*length) != digest.len() {
            return None;
        }
        Self::new(algorithm, digest.to_vec())
    }

    /// Whether this is the digest of these octets.
    pub(super) fn is_of(&self, octets: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::Sha256 => Sha256::digest(octets).as_slice() == self.octets,
            Algorithm::Sha384 => Sha384::digest(octets).as_slice() == self.octets,
            Algorithm::Sha512 => Sha512::digest(octets).as_slice() == self.octets,
        }
    }

    fn new(algorithm: Algorithm, octets: Vec<u8>) -> Option<Self> {
        let length = match algorithm {
            Algorithm::Sha256 => 32,
            Algorithm::Sha384 => 48,
            Algorithm::Sha512 => 64,
        };
        (octets.len() == length).then_some(Self { algorithm, octets })
    }
}

/// SHA-256 as `digestSRI`.
pub(super) fn sri(octets: &[u8]) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(octets)))
}

/// SHA-256 as `digestMultibase`, in base58btc.
pub(super) fn multibase(octets: &[u8]) -> String {
    encode_base58btc(&[&[0x12, 0x20], Sha256::digest(octets).as_slice()].concat())
}

fn decode_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2)
        || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    digits.chunks_exact(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: &[u8] = b"content";

    fn sri_of(name: &str, digest: &[u8]) -> String {
        format!("{name}-{}", STANDARD.encode(digest))
    }

    fn multihash(code: u8, digest: &[u8]) -> Vec<u8> {
        [&[code, u8::try_from(digest.len()).unwrap()], digest].concat()
    }

    fn hexadecimal(octets: &[u8]) -> String {
        octets.iter().map(|octet| format!("{octet:02x}")).collect()
    }

    fn matches(digest: Option<ContentDigest>) -> bool {
        digest.is_some_and(|digest| digest.is_of(CONTENT) && !digest.is_of(b"other"))
    }

    #[test]
    fn sri_digests_of_each_algorithm_match_their_content() {
        assert!(matches(ContentDigest::parse_sri(&sri(CONTENT))));
        assert!(matches(ContentDigest::parse_sri(&sri_of("sha384", &Sha384::digest(CONTENT)))));
        assert!(matches(ContentDigest::parse_sri(&sri_of("sha512", &Sha512::digest(CONTENT)))));
    }

    #[test]
    fn multibase_digests_of_each_algorithm_and_base_match_their_content() {
        assert!(matches(ContentDigest::parse_multibase(&multibase(CONTENT))));
        for hash in [
            multihash(0x12, &Sha256::digest(CONTENT)),
            multihash(0x20, &Sha384::digest(CONTENT)),
            multihash(0x13, &Sha512::digest(CONTENT)),
        ] {
            for text in [
                encode_base58btc(&hash),
                format!("u{}", URL_SAFE_NO_PAD.encode(&hash)),
                format!("m{}", STANDARD_NO_PAD.encode(&hash)),
                format!("f{}", hexadecimal(&hash)),
            ] {
                assert!(matches(ContentDigest::parse_multibase(&text)), "{text}");
            }
        }
    }

    #[test]
    fn an_sri_digest_in_another_spelling_does_not_parse() {
        let good = sri(CONTENT);
        let digest = good.strip_prefix("sha256-").unwrap();
        for text in [
            String::new(),
            format!("{good} {good}"),
            format!("{good}?ct=text/turtle"),
            format!("{good} "),
            format!(" {good}"),
            format!("SHA256-{digest}"),
            format!("sha1-{digest}"),
            format!("md5-{digest}"),
            format!("sha384-{digest}"),
            format!("sha256-{}", digest.trim_end_matches('=')),
            format!("sha256-{}", URL_SAFE_NO_PAD.encode([0xff; 32])),
            format!("sha256{digest}"),
        ] {
            assert_eq!(ContentDigest::parse_sri(&text), None, "{text}");
        }
    }

    #[test]
    fn a_multibase_digest_in_another_spelling_does_not_parse() {
        let hash = multihash(0x12, &Sha256::digest(CONTENT));
        let short = multihash(0x12, &Sha256::digest(CONTENT)[..31]);
        let mut lying = hash.clone();
        lying[1] = 0x21;
        for text in [
            String::new(),
            "z".to_owned(),
            format!("F{}", hexadecimal(&hash).to_uppercase()),
            format!("f{}", hexadecimal(&hash).to_uppercase()),
            format!("U{}=", URL_SAFE_NO_PAD.encode(&hash)),
            format!("M{}", STANDARD.encode(&hash)),
            encode_base58btc(&short),
            encode_base58btc(&lying),
            encode_base58btc(&multihash(0x11, &[0; 20])),
            encode_base58btc(&multihash(0x13, &Sha256::digest(CONTENT))),
            encode_base58btc(&Sha256::digest(CONTENT)),
            encode_base58btc(&[&hash[..], &[0]].concat()),
            format!("z{}", "1".repeat(100_000)),
        ] {
            assert_eq!(ContentDigest::parse_multibase(&text), None, "{text}");
        }
    }
}
