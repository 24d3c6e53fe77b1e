//! Public keys: Multikey, JWK, did:key and did:jwk of Ed25519, P-256 and P-384, in their one accepted spelling each
//! (`mandate.md` 1, threat 22).

use crate::limits::Limits;
use crate::message::strict_json;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Verifier as _;
use serde_json::{Map, Value};

/// The multicodec of an Ed25519 public key, 0xed, as its minimal varint.
pub(crate) const ED25519_PUBLIC: [u8; 2] = [0xed, 0x01];
/// The multicodec of a P-256 public key, 0x1200, as its minimal varint.
pub(crate) const P256_PUBLIC: [u8; 2] = [0x80, 0x24];
/// The multicodec of a P-384 public key, 0x1201, as its minimal varint.
pub(crate) const P384_PUBLIC: [u8; 2] = [0x81, 0x24];
/// No accepted Multikey is longer. Base58 decoding is quadratic, so the bound comes first.
const MULTIKEY_CHARS: usize = 80;
/// Members that a public JWK of any key type cannot have (RFC 7518 6, RFC 8037 2).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A public key that a suite can verify with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// Ed25519, a canonical point that is not of small order.
    Ed25519(ed25519_dalek::VerifyingKey),
    /// P-256, a point of the curve that is not its identity.
    P256(p256::ecdsa::VerifyingKey),
    /// P-384, likewise.
    P384(p384::ecdsa::VerifyingKey),
}

/// What kind of key a suite or a JOSE algorithm takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// Ed25519 (RFC 8032): `eddsa-rdfc-2022`, JOSE `EdDSA`.
    Ed25519,
    /// P-256: `ecdsa-rdfc-2019`, JOSE `ES256`.
    P256,
    /// P-384: `ecdsa-rdfc-2019`, JOSE `ES384`.
    P384,
}

impl KeyType {
    /// The length of a secret key: a seed, or a scalar.
    pub(crate) fn secret_octets(self) -> usize {
        match self {
            Self::Ed25519 => 32,
            Self::P256 => P256_OCTETS,
            Self::P384 => P384_OCTETS,
        }
    }
}

/// Why a text is not a key in its one accepted spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct KeyError(&'static str);

impl PublicKey {
    /// Reads a Multikey: `z`, base58btc, a minimal varint codec, and exactly one key. An EC key is a compressed point.
    ///
    /// # Errors
    /// [`KeyError`]
    pub(crate) fn from_multikey(text: &str) -> Result<Self, KeyError> {
        let octets =
            decode_base58btc(text, MULTIKEY_CHARS).ok_or(KeyError("a Multikey is `z` and base58btc"))?;
        let (codec, key) = octets.split_first_chunk::<2>().ok_or(KeyError("a Multikey has a codec"))?;
        match *codec {
            ED25519_PUBLIC => Self::from_ed25519(key),
            P256_PUBLIC => Self::from_p256(compressed(key, P256_OCTETS)?),
            P384_PUBLIC => Self::from_p384(compressed(key, P384_OCTETS)?),
            _ => Err(KeyError("the codec is not that of an accepted key, as a minimal varint")),
        }
    }

    /// Reads a public JWK (RFC 7518 6.2, RFC 8037). Its key members re-encode to themselves; a private member refuses;
    /// other members are ignored.
    ///
    /// # Errors
    /// [`KeyError`]
    pub(crate) fn from_jwk(jwk: &Value) -> Result<Self, KeyError> {
        let jwk = jwk.as_object().ok_or(KeyError("a JWK is an object"))?;
        if PRIVATE_MEMBERS.iter().any(|member| jwk.contains_key(*member)) {
            return Err(KeyError("the JWK holds a private member"));
        }
        let member = |name: &str| jwk.get(name).and_then(Value::as_str);
        match (member("kty"), member("crv")) {
            (Some("OKP"), Some("Ed25519")) => Self::from_ed25519(&octets_of(jwk, "x")?),
            (Some("EC"), Some("P-256")) => Self::from_p256(&coordinates(jwk, P256_OCTETS)?),
            (Some("EC"), Some("P-384")) => Self::from_p384(&coordinates(jwk, P384_OCTETS)?),
            _ => Err(KeyError("the JWK is of no accepted key type and curve")),
        }
    }

    /// Reads the key of a did:key (without fragment).
    ///
    /// # Errors
    /// [`KeyError`]
    pub(crate) fn from_did_key(did: &str) -> Result<Self, KeyError> {
        let multikey = did.strip_prefix(DID_KEY).ok_or(KeyError("not a did:key"))?;
        Self::from_multikey(multikey)
    }

    /// Reads the key of a did:jwk (without fragment): strict JSON in unpadded base64url. One that says it is for
    /// encryption signs nothing.
    ///
    /// # Errors
    /// [`KeyError`]
    pub(crate) fn from_did_jwk(did: &str) -> Result<Self, KeyError> {
        let malformed = || KeyError("not a did:jwk");
        let encoded = did.strip_prefix(DID_JWK).ok_or_else(malformed)?;
        let octets = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| malformed())?;
        let jwk = strict_json::read(&octets, &Limits::default()).map_err(|_| malformed())?;
        if jwk.get("use").is_some_and(|usage| usage != "sig") {
            return Err(KeyError("the key of the did:jwk is not for signing"));
        }
        Self::from_jwk(&jwk)
    }

    /// The key as a Multikey.
    pub(crate) fn to_multikey(&self) -> String {
        let octets = match self {
            Self::Ed25519(key) => [&ED25519_PUBLIC[..], key.as_bytes()].concat(),
            Self::P256(key) => [&P256_PUBLIC[..], key.to_encoded_point(true).as_bytes()].concat(),
            Self::P384(key) => [&P384_PUBLIC[..], key.to_encoded_point(true).as_bytes()].concat(),
        };
        encode_base58btc(&octets)
    }

    /// Which suites and algorithms can verify with it.
    pub(crate) fn key_type(&self) -> KeyType {
        match self {
            Self::Ed25519(_) => KeyType::Ed25519,
            Self::P256(_) => KeyType::P256,
            Self::P384(_) => KeyType::P384,
        }
    }

    /// Verifies a signature, strictly. Ed25519: no non-canonical scalar or point, no point of small order (RFC 8032 5.1.7
    /// with the checks that make a signature unique to its key and message). ECDSA, with the hash of the curve (SHA-256 for
    /// P-256, SHA-384 for P-384): r then s, each of the curve's fixed length, in range. Both signs of s verify, as in every
    /// standard that uses these curves, so a signature never identifies what it signs.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(message, &signature).is_ok()),
            Self::P256(key) => p256::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            Self::P384(key) => p384::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
        }
    }

    /// The caller has settled the point's form: compressed in a Multikey, uncompressed from a JWK's coordinates.
    fn from_p256(point: &[u8]) -> Result<Self, KeyError> {
        p256::ecdsa::VerifyingKey::from_sec1_bytes(point).map(Self::P256).map_err(|_| OFF_CURVE)
    }

    /// As [`Self::from_p256`].
    fn from_p384(point: &[u8]) -> Result<Self, KeyError> {
        p384::ecdsa::VerifyingKey::from_sec1_bytes(point).map(Self::P384).map_err(|_| OFF_CURVE)
    }

    fn from_ed25519(octets: &[u8]) -> Result<Self, KeyError> {
        let octets: &[u8; 32] = octets.try_into().map_err(|_| KeyError("an Ed25519 key has 32 octets"))?;
        let key = ed25519_dalek::VerifyingKey::from_bytes(octets).map_err(|_| OFF_CURVE)?;
        // Decompression accepts two encodings of some points; a key has one.
        if key.to_edwards().compress().as_bytes() != octets {
            return Err(KeyError("the key is not a canonical point"));
        }
        if key.is_weak() {
            return Err(KeyError("the key is of small order"));
        }
        Ok(Self::Ed25519(key))
    }
}

const OFF_CURVE: KeyError = KeyError("the key is not a point of the curve");

/// The length of a coordinate, and of r and s, on P-256.
const P256_OCTETS: usize = 32;
/// The length of a coordinate, and of r and s, on P-384.
const P384_OCTETS: usize = 48;

/// A compressed point (SEC 1 2.3.3): its sign, then one coordinate.
fn compressed(octets: &[u8], coordinate: usize) -> Result<&[u8], KeyError> {
    match octets.split_first() {
        Some((2 | 3, x)) if x.len() == coordinate => Ok(octets),
        _ => Err(KeyError("an EC key is one compressed point of its curve")),
    }
}

/// A member of a JWK that is octets, in the one spelling that it has.
fn octets_of(jwk: &Map<String, Value>, name: &str) -> Result<Vec<u8>, KeyError> {
    let text = jwk.get(name).and_then(Value::as_str);
    let text = text.ok_or(KeyError("the JWK lacks a coordinate"))?;
    let octets = URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| KeyError("a coordinate of the JWK is not unpadded base64url"))?;
    if URL_SAFE_NO_PAD.encode(&octets) != text {
        return Err(KeyError("a coordinate of the JWK does not re-encode to itself"));
    }
    Ok(octets)
}

/// The uncompressed point (SEC 1 2.3.3) of an EC JWK, each coordinate of the curve's full length (RFC 7518 6.2.1.2).
fn coordinates(jwk: &Map<String, Value>, octets: usize) -> Result<Vec<u8>, KeyError> {
    let (x, y) = (octets_of(jwk, "x")?, octets_of(jwk, "y")?);
    if x.len() != octets || y.len() != octets {
        return Err(KeyError("a coordinate of the JWK is not of its curve's length"));
    }
    Ok([&[4], x.as_slice(), y.as_slice()].concat())
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

    /// The compressed point, the coordinates and the curve's names of one P-256 and one P-384 key.
    fn ec() -> [(PublicKey, [u8; 2], Vec<u8>, Value); 2] {
        let p256 = *p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap().verifying_key();
        let p384 = *p384::ecdsa::SigningKey::from_slice(&[7; 48]).unwrap().verifying_key();
        let jwk = |curve: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at((point.len() - 1) / 2);
            json!({"kty": "EC", "crv": curve, "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)})
        };
        let (full256, full384) = (p256.to_encoded_point(false), p384.to_encoded_point(false));
        [
            (
                PublicKey::P256(p256),
                P256_PUBLIC,
                p256.to_encoded_point(true).as_bytes().to_vec(),
                jwk("P-256", full256.as_bytes()),
            ),
            (
                PublicKey::P384(p384),
                P384_PUBLIC,
                p384.to_encoded_point(true).as_bytes().to_vec(),
                jwk("P-384", full384.as_bytes()),
            ),
        ]
    }

    #[test]
    fn multikey_jwk_did_key_and_did_jwk_of_one_ec_key_are_equal() {
        for (key, codec, point, jwk) in ec() {
            let multikey = multikey(&codec, &point);
            let did_jwk = format!("did:jwk:{}", URL_SAFE_NO_PAD.encode(jwk.to_string()));
            assert_eq!(PublicKey::from_multikey(&multikey).as_ref(), Ok(&key));
            assert_eq!(PublicKey::from_did_key(&format!("did:key:{multikey}")).as_ref(), Ok(&key));
            assert_eq!(PublicKey::from_jwk(&jwk).as_ref(), Ok(&key));
            assert_eq!(PublicKey::from_did_jwk(&did_jwk).as_ref(), Ok(&key));
        }
    }

    #[test]
    fn an_ec_multikey_that_is_not_one_compressed_point_of_its_curve_is_refused() {
        for (key, codec, point, _) in ec() {
            let other = if codec == P256_PUBLIC { P384_PUBLIC } else { P256_PUBLIC };
            assert!(PublicKey::from_multikey(&multikey(&other, &point)).is_err(), "another curve's codec");
            let full = match &key {
                PublicKey::P256(key) => key.to_encoded_point(false).as_bytes().to_vec(),
                PublicKey::P384(key) => key.to_encoded_point(false).as_bytes().to_vec(),
                PublicKey::Ed25519(_) => Vec::new(),
            };
            let mut hybrid = full.clone();
            hybrid[0] = 6;
            let mut sign = point.clone();
            sign[0] = 5;
            let long = [&point[..], &[0]].concat();
            for octets in [full, hybrid, sign, long, point[..point.len() - 1].to_vec(), vec![0]] {
                assert!(PublicKey::from_multikey(&multikey(&codec, &octets)).is_err(), "{octets:?}");
            }
            // About half of all coordinates belong to no point.
            let off = (0..=u8::MAX).map(|last| {
                let mut octets = point.clone();
                *octets.last_mut().unwrap() = last;
                PublicKey::from_multikey(&multikey(&codec, &octets))
            });
            assert!(off.into_iter().any(|read| read == Err(OFF_CURVE)));
            // A coordinate that is not reduced.
            let mut above = vec![0xff; point.len()];
            above[0] = 2;
            assert_eq!(PublicKey::from_multikey(&multikey(&codec, &above)), Err(OFF_CURVE));
        }
    }

    #[test]
    fn an_ec_jwk_that_is_not_a_point_in_full_length_is_refused() {
        for (_, _, _, jwk) in ec() {
            let text = |octets: &[u8]| json!(URL_SAFE_NO_PAD.encode(octets));
            for member in ["x", "y"] {
                let octets = URL_SAFE_NO_PAD.decode(jwk[member].as_str().unwrap()).unwrap();
                let mut moved = octets.clone();
                moved[9] ^= 1;
                let padded = [&[0], &octets[..]].concat();
                let variants = [
                    json!(null),
                    json!(7),
                    text(&moved),
                    text(&padded),
                    text(&octets[1..]),
                    text(&[]),
                    json!(format!("{}=", jwk[member].as_str().unwrap())),
                ];
                for variant in variants {
                    let mut jwk = jwk.clone();
                    jwk[member] = variant;
                    assert!(PublicKey::from_jwk(&jwk).is_err(), "{member} {jwk}");
                }
                let mut jwk = jwk.clone();
                jwk.as_object_mut().unwrap().remove(member);
                assert!(PublicKey::from_jwk(&jwk).is_err(), "without {member}");
            }
            let mut private = jwk.clone();
            private["d"] = json!("AA");
            assert!(PublicKey::from_jwk(&private).is_err());
        }
        let p256 = &ec()[0].3;
        let zero = json!(URL_SAFE_NO_PAD.encode([0; 32]));
        let identity = json!({"kty": "EC", "crv": "P-256", "x": zero, "y": zero});
        assert!(PublicKey::from_jwk(&identity).is_err());
        for curve in ["P-384", "secp256k1", "p-256", "P-521"] {
            let mut jwk = p256.clone();
            jwk["crv"] = json!(curve);
            assert!(PublicKey::from_jwk(&jwk).is_err(), "{curve}");
        }
    }

    #[test]
    fn an_ecdsa_signature_has_fixed_length_and_range() {
        use p256::ecdsa::signature::Signer as _;
        let secret = p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
        let key = PublicKey::P256(*secret.verifying_key());
        let signature: p256::ecdsa::Signature = secret.sign(b"message");
        let octets = signature.to_bytes().to_vec();
        assert!(key.verifies(b"message", &octets));
        assert!(!key.verifies(b"another", &octets));
        let (r, s) = octets.split_at(32);
        let (zero, order) = ([0; 32], [0xff; 32]);
        let der = signature.to_der();
        let bad: [&[&[u8]]; 7] =
            [&[r], &[r, s, &[0]], &[&[0], r, s], &[&zero, s], &[r, &zero], &[r, &order], &[der.as_bytes()]];
        for parts in bad {
            assert!(!key.verifies(b"message", &parts.concat()), "{parts:?}");
        }
        // n - s verifies too, by every standard of this curve: what stops a replay is never the signature's octets.
        let twin = p256::ecdsa::Signature::from_scalars(*signature.r(), -*signature.s()).unwrap();
        assert!(key.verifies(b"message", &twin.to_bytes()));
        let of_384 = p384::ecdsa::SigningKey::from_slice(&[7; 48]).unwrap();
        let signature: p384::ecdsa::Signature = of_384.sign(b"message");
        assert!(PublicKey::P384(*of_384.verifying_key()).verifies(b"message", &signature.to_bytes()));
        assert!(!key.verifies(b"message", &signature.to_bytes()));
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
        assert_eq!(PublicKey::from_ed25519(&octets), Err(KeyError("the key is not a point of the curve")));
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
        assert_eq!(PublicKey::from_ed25519(&second), Err(KeyError("the key is not a canonical point")));
    }

    #[test]
    fn a_point_of_small_order_is_refused() {
        let mut identity = [0u8; 32];
        identity[0] = 1;
        let mut order_two = [0xff; 32];
        order_two[0] = 0xec;
        order_two[31] = 0x7f;
        for octets in [identity, order_two, [0; 32]] {
            assert_eq!(PublicKey::from_ed25519(&octets), Err(KeyError("the key is of small order")));
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
        for (member, value) in
            [("kty", "okp"), ("kty", "EC"), ("crv", "X25519"), ("crv", "ed25519"), ("crv", "P-256")]
        {
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
