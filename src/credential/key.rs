//! Public keys: Multikey, JWK (Ed25519 only for now), did:key and did:jwk, in their one accepted spelling each
//! (`mandate.md` 1, threat 22).

use crate::limits::Limits;
use crate::message::strict_json;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The multicodec of an Ed25519 public key, 0xed, as its minimal varint.
pub(crate) const ED25519_PUBLIC: [u8; 2] = [0xed, 0x01];
/// The multicodecs of P-256 and P-384 public keys, 0x1200 and 0x1201: keys, but of a suite that is not accepted here.
const OTHER_KEYS: [[u8; 2]; 2] = [[0x80, 0x24], [0x81, 0x24]];
/// No accepted Multikey is longer. Base58 decoding is quadratic, so the bound comes first.
const MULTIKEY_CHARS: usize = 80;
/// Members that a public JWK of any key type cannot have (RFC 7518 6, RFC 8037 2).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A public key that a suite can verify with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// Ed25519, a canonical point that is not of small order.
    Ed25519(ed25519_dalek::VerifyingKey),
}

/// Why a key is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    /// Well known, but of a type that no accepted suite verifies with.
    #[error("the key is of another type than the suite's")]
    OtherType,
    /// Not a key in its one accepted spelling.
    #[error("{0}")]
    Malformed(&'static str),
}

impl PublicKey {
    /// Reads a Multikey: `z`, base58btc, a minimal varint codec, and exactly one key.
    ///
    /// # Errors
    /// [`KeyError`]
    pub(crate) fn from_multikey(text: &str) -> Result<Self, KeyError> {
        let octets = decode_base58btc(text, MULTIKEY_CHARS)
            .ok_or(KeyError::Malformed("a Multikey is `z` and base58btc"))?;
        let (codec, key) =
            octets.split_first_chunk::<2>().ok_or(KeyError::Malformed("a Multikey has a codec"))?;
        match *codec {
            ED25519_PUBLIC => Self::from_ed25519(key),
            codec if OTHER_KEYS.contains(&codec) => Err(KeyError::OtherType),
            _ => Err(KeyError::Malformed("the codec is not that of an accepted key, as a minimal varint")),
        }
    }

    /// Reads a public JWK (RFC 8037). Its key members re-encode to themselves; a private member refuses; other members
    /// are ignored.
    ///
    /// # Errors
    /// [`KeyError`]
    pub(crate) fn from_jwk(jwk: &Value) -> Result<Self, KeyError> {
        let jwk = jwk.as_object().ok_or(KeyError::Malformed("a JWK is an object"))?;
        if PRIVATE_MEMBERS.iter().any(|member| jwk.contains_key(*member)) {
            return Err(KeyError::Malformed("the JWK holds a private member"));
        }
        let member = |name: &str| jwk.get(name).and_then(Value::as_str);
        match (member("kty"), member("crv")) {
            (Some("OKP"), Some("Ed25519")) => {}
            (Some("EC"), Some("P-256" | "P-384")) => return Err(KeyError::OtherType),
            _ => return Err(KeyError::Malformed("the JWK is of no accepted key type and curve")),
        }
        let x = member("x").ok_or(KeyError::Malformed("the JWK has no `x`"))?;
        let octets =
            URL_SAFE_NO_PAD.decode(x).map_err(|_| KeyError::Malformed("`x` is not unpadded base64url"))?;
        if URL_SAFE_NO_PAD.encode(&octets) != x {
            return Err(KeyError::Malformed("`x` does not re-encode to itself"));
        }
        Self::from_ed25519(&octets)
    }

    /// Reads the key of a did:key (without fragment).
    ///
    /// # Errors
    /// [`KeyError`]
    pub(crate) fn from_did_key(did: &str) -> Result<Self, KeyError> {
        let multikey = did.strip_prefix(DID_KEY).ok_or(KeyError::Malformed("not a did:key"))?;
        Self::from_multikey(multikey)
    }

    /// Reads the key of a did:jwk (without fragment): strict JSON in unpadded base64url. One that says it is for
    /// encryption signs nothing.
    ///
    /// # Errors
    /// [`KeyError`]
    pub(crate) fn from_did_jwk(did: &str) -> Result<Self, KeyError> {
        let malformed = || KeyError::Malformed("not a did:jwk");
        let encoded = did.strip_prefix(DID_JWK).ok_or_else(malformed)?;
        let octets = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| malformed())?;
        let jwk = strict_json::read(&octets, &Limits::default()).map_err(|_| malformed())?;
        if jwk.get("use").is_some_and(|usage| usage != "sig") {
            return Err(KeyError::Malformed("the key of the did:jwk is not for signing"));
        }
        Self::from_jwk(&jwk)
    }

    /// Verifies a signature, strictly: no non-canonical scalar or point, no point of small order (RFC 8032 5.1.7 with
    /// the checks that make a signature unique to its key and message).
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        match self {
            Self::Ed25519(key) => {
                key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
            }
        }
    }

    fn from_ed25519(octets: &[u8]) -> Result<Self, KeyError> {
        let octets: &[u8; 32] =
            octets.try_into().map_err(|_| KeyError::Malformed("an Ed25519 key has 32 octets"))?;
        let key = ed25519_dalek::VerifyingKey::from_bytes(octets)
            .map_err(|_| KeyError::Malformed("the key is not a point of the curve"))?;
        // Decompression accepts two encodings of some points; a key has one.
        if key.to_edwards().compress().as_bytes() != octets {
            return Err(KeyError::Malformed("the key is not a canonical point"));
        }
        if key.is_weak() {
            return Err(KeyError::Malformed("the key is of small order"));
        }
        Ok(Self::Ed25519(key))
    }
}

/// What every did:key starts with.
pub(crate) const DID_KEY: &str = "did:key:";

/// What every did:jwk starts with.
pub(crate) const DID_JWK: &str = "did:jwk:";

/// The one verification method that a did:key has: its fragment repeats the method-specific id.
pub(crate) fn did_key_method(did: &str) -> Option<String> {
    did.strip_prefix(DID_KEY).map(|multikey| format!("{did}#{multikey}"))
}

/// Decodes multibase `z` text of at most `chars` characters.
pub(crate) fn decode_base58btc(text: &str, chars: usize) -> Option<Vec<u8>> {
    let encoded = text.strip_prefix('z')?;
    if encoded.len() > chars {
        return None;
    }
    bs58::decode(encoded).into_vec().ok()
}

/// Encodes octets as multibase `z` text.
pub(crate) fn encode_base58btc(octets: &[u8]) -> String {
    format!("z{}", bs58::encode(octets).into_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key() -> ed25519_dalek::VerifyingKey {
        ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key()
    }

    fn multikey(codec: &[u8], key: &[u8]) -> String {
        encode_base58btc(&[codec, key].concat())
    }

    fn good() -> String {
        multikey(&ED25519_PUBLIC, key().as_bytes())
    }

    fn jwk() -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(key().as_bytes())})
    }

    #[test]
    fn multikey_jwk_and_did_key_of_one_key_are_equal() {
        let expected = PublicKey::Ed25519(key());
        assert_eq!(PublicKey::from_multikey(&good()).unwrap(), expected);
        assert_eq!(PublicKey::from_did_key(&format!("did:key:{}", good())).unwrap(), expected);
        assert_eq!(PublicKey::from_jwk(&jwk()).unwrap(), expected);
    }

    #[test]
    fn a_multikey_in_another_multibase_is_refused() {
        let octets = [&ED25519_PUBLIC[..], key().as_bytes()].concat();
        let base64 = format!("u{}", URL_SAFE_NO_PAD.encode(&octets));
        let hex = format!("f{}", octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>());
        for text in [base64, hex, good().replacen('z', "Z", 1), good()[1..].to_owned(), String::new()] {
            assert!(PublicKey::from_multikey(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_multikey_with_characters_outside_base58_is_refused() {
        for text in [format!("{}0", good()), format!("{} ", good()), format!("{}=", good())] {
            assert!(PublicKey::from_multikey(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_codec_that_is_not_a_minimal_varint_is_refused() {
        assert!(PublicKey::from_multikey(&multikey(&[0xed, 0x81, 0x00], key().as_bytes())).is_err());
        assert!(PublicKey::from_multikey(&multikey(&[0xed], key().as_bytes())).is_err());
        assert!(PublicKey::from_multikey(&multikey(&[], &[])).is_err());
    }

    #[test]
    fn the_codec_of_a_secret_or_exchange_key_is_refused() {
        assert!(PublicKey::from_multikey(&multikey(&[0x80, 0x26], key().as_bytes())).is_err());
        assert!(PublicKey::from_multikey(&multikey(&[0xec, 0x01], key().as_bytes())).is_err());
    }

    #[test]
    fn a_key_of_another_curve_is_told_apart() {
        assert_eq!(PublicKey::from_multikey(&multikey(&[0x80, 0x24], &[2; 33])), Err(KeyError::OtherType));
        assert_eq!(PublicKey::from_multikey(&multikey(&[0x81, 0x24], &[2; 49])), Err(KeyError::OtherType));
        assert_eq!(PublicKey::from_jwk(&json!({"kty": "EC", "crv": "P-256"})), Err(KeyError::OtherType));
    }

    #[test]
    fn a_key_of_another_length_is_refused() {
        let long = [&key().as_bytes()[..], &[0]].concat();
        assert!(PublicKey::from_multikey(&multikey(&ED25519_PUBLIC, &long)).is_err());
        assert!(PublicKey::from_multikey(&multikey(&ED25519_PUBLIC, &key().as_bytes()[..31])).is_err());
        let leading_zero = [&[0], &ED25519_PUBLIC[..], key().as_bytes()].concat();
        assert!(PublicKey::from_multikey(&encode_base58btc(&leading_zero)).is_err());
        assert!(PublicKey::from_multikey(&format!("z{}", "1".repeat(100_000))).is_err());
    }

    #[test]
    fn a_point_off_the_curve_is_refused() {
        let mut octets = [0u8; 32];
        octets[0] = 2;
        assert_eq!(
            PublicKey::from_ed25519(&octets),
            Err(KeyError::Malformed("the key is not a point of the curve"))
        );
    }

    #[test]
    fn a_point_in_a_non_canonical_encoding_is_refused() {
        // y = p + 3 is the point of y = 3 in a second encoding, and not of small order.
        let mut second = [0xff; 32];
        second[0] = 0xf0;
        second[31] = 0x7f;
        let mut first = [0u8; 32];
        first[0] = 3;
        assert!(PublicKey::from_ed25519(&first).is_ok());
        assert_eq!(
            PublicKey::from_ed25519(&second),
            Err(KeyError::Malformed("the key is not a canonical point"))
        );
    }

    #[test]
    fn a_point_of_small_order_is_refused() {
        let mut identity = [0u8; 32];
        identity[0] = 1;
        let mut order_two = [0xff; 32];
        order_two[0] = 0xec;
        order_two[31] = 0x7f;
        for octets in [identity, order_two, [0; 32]] {
            assert_eq!(
                PublicKey::from_ed25519(&octets),
                Err(KeyError::Malformed("the key is of small order"))
            );
        }
    }

    #[test]
    fn a_jwk_with_a_private_member_is_refused() {
        for member in PRIVATE_MEMBERS {
            let mut jwk = jwk();
            jwk[member] = json!("AA");
            assert!(PublicKey::from_jwk(&jwk).is_err(), "{member}");
        }
    }

    #[test]
    fn other_members_of_a_jwk_are_ignored() {
        let mut jwk = jwk();
        jwk["alg"] = json!("ES256");
        jwk["kid"] = json!("k");
        assert!(PublicKey::from_jwk(&jwk).is_ok());
    }

    #[test]
    fn a_jwk_of_another_type_or_curve_is_refused() {
        for (member, value) in [("kty", "okp"), ("kty", "EC"), ("crv", "X25519"), ("crv", "ed25519")] {
            let mut jwk = jwk();
            jwk[member] = json!(value);
            assert!(PublicKey::from_jwk(&jwk).is_err(), "{member} {value}");
        }
        assert!(PublicKey::from_jwk(&json!("x")).is_err());
    }

    #[test]
    fn a_jwk_that_does_not_re_encode_to_itself_is_refused() {
        let x = URL_SAFE_NO_PAD.encode(key().as_bytes());
        // The last of 43 characters carries two unused bits.
        let last = x.chars().last().unwrap();
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let next = alphabet.chars().nth(alphabet.find(last).unwrap() + 1).unwrap();
        let mut twin = x.clone();
        twin.pop();
        twin.push(next);
        for text in [twin, format!("{x}="), format!(" {x}"), x[1..].to_owned()] {
            let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": text});
            assert!(PublicKey::from_jwk(&jwk).is_err(), "{text}");
        }
    }

    #[test]
    fn a_signature_is_verified_strictly() {
        use ed25519_dalek::Signer as _;
        let secret = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        let signature = secret.sign(b"message").to_bytes();
        let key = PublicKey::Ed25519(secret.verifying_key());
        assert!(key.verifies(b"message", &signature));
        assert!(!key.verifies(b"another", &signature));
        // s + L verifies under the lax equation; adding L (little-endian) to s makes the twin.
        const L: [u8; 32] = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let mut twin = signature;
        let mut carry = 0u16;
        for (octet, add) in twin[32..].iter_mut().zip(L) {
            let sum = u16::from(*octet) + u16::from(add) + carry;
            *octet = sum.to_le_bytes()[0];
            carry = sum >> 8;
        }
        assert!(!key.verifies(b"message", &twin));
    }

    #[test]
    fn a_did_key_has_one_method() {
        assert_eq!(did_key_method("did:key:z6Mk").as_deref(), Some("did:key:z6Mk#z6Mk"));
        assert_eq!(did_key_method("did:web:a.example"), None);
    }
}
