//! IDTOKENs that a router creates for its routed jobs (`JobRouter::CreateIDTokenFile`,
//! `Condor_Auth_Passwd::generate_token`).
//!
//! A token is a JWT signed with HMAC-SHA-256. The key of the HMAC is derived with HKDF from a signing key, which is
//! stored scrambled in a file. The pool's signing key is concatenated with itself before the derivation.

use bstr::ByteSlice;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use htc_router::token_spec::TokenSpec;

/// Mask with which signing keys are scrambled in their files.
const SCRAMBLE_KEY: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];
/// Name of the pool's signing key.
pub const POOL_KEY_NAME: &[u8] = b"POOL";

/// Derives a signing key from the contents of its file. `is_pool` is true for the pool's key; `is_password` is true
/// if that key was written as a password (`SEC_TOKEN_POOL_SIGNING_KEY_IS_PASSWORD`), which ends at its first NUL
/// byte.
pub fn derive_signing_key(content: &[u8], is_pool: bool, is_password: bool) -> Vec<u8> {
    let until_nul = |bytes: &[u8]| bytes.find_byte(0).unwrap_or(bytes.len());
    let is_password = is_pool && is_password;
    let content = if is_password { &content[..until_nul(content)] } else { content };
    let mut key: Vec<u8> =
        content.iter().zip(SCRAMBLE_KEY.iter().cycle()).map(|(byte, with)| byte ^ with).collect();
    if is_password {
        key.truncate(until_nul(&key));
    }
    if is_pool { key.repeat(2) } else { key }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC accepts keys of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// Returns the contents of a token file without the newline. `issuer` issued the token, `now` is the time in seconds
/// since the epoch, and `id` is the token's id.
pub fn sign_token(order: &TokenSpec, signing_key: &[u8], issuer: &[u8], now: i64, id: &[u8]) -> String {
    let kid = if order.signing_key.is_empty() { POOL_KEY_NAME } else { order.signing_key.as_slice() };
    let header = format!("{{\"alg\":\"HS256\",\"kid\":{}}}", json_string(kid));
    let mut claims: Vec<String> = Vec::new();
    if order.lifetime >= 0 {
        claims.push(format!("\"exp\":{}", now.saturating_add(order.lifetime)));
    }
    claims.push(format!("\"iat\":{now}"));
    claims.push(format!("\"iss\":{}", json_string(issuer)));
    claims.push(format!("\"jti\":{}", json_string(id)));
    if !order.scopes.is_empty() {
        let scopes: Vec<Vec<u8>> =
            order.scopes.iter().map(|scope| [b"condor:/", scope.as_slice()].concat()).collect();
        claims.push(format!("\"scope\":{}", json_string(&scopes.join(&b' '))));
    }
    claims.push(format!("\"sub\":{}", json_string(&order.subject)));
    let payload = format!("{{{}}}", claims.join(","));
    let signed = format!("{}.{}", base64_url(header.as_bytes()), base64_url(payload.as_bytes()));
    // HKDF with one block of output: extract with the salt, expand with the purpose.
    let extracted = hmac(b"htcondor", &[signing_key]);
    let key = hmac(&extracted, &[b"master jwt", &[1]]);
    let signature = hmac(&key, &[signed.as_bytes()]);
    format!("{signed}.{}", base64_url(&signature))
}

/// Returns a JSON string in the form that the reference writes: slashes are escaped.
fn json_string(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for letter in text.to_str_lossy().chars() {
        match letter {
            '"' | '\\' | '/' => out.extend(['\\', letter]),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' | '\u{7f}' => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Encodes in base64url without padding.
fn base64_url(bytes: &[u8]) -> String {
    const BASE64_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            let six = group >> (18 - 6 * at) & 63;
            out.push(char::from(BASE64_ALPHABET[six as usize]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use bstr::BString;

    use super::*;

    fn order(key: &str) -> TokenSpec {
        TokenSpec {
            name: "tok".into(),
            subject: "a@b".into(),
            signing_key: key.into(),
            scopes: vec!["READ".into(), "WRITE".into()],
            lifetime: 100,
            file: "/t/tok".into(),
            owner: BString::default(),
        }
    }

    /// The expected tokens were printed by condor_token_create for the same key, identity, authorizations, lifetime,
    /// time and id.
    #[test]
    fn tokens_are_those_of_condor_token_create() {
        let key = derive_signing_key(b"secret key of the pool\n\0x", true, false);
        let made =
            sign_token(&order(""), &key, b"example.org", 1_795_334_551, b"207965eb855d1ff82f93b610bc2f36af");
        let expected = "eyJhbGciOiJIUzI1NiIsImtpZCI6IlBPT0wifQ.eyJleHAiOjE3OTUzMzQ2NTEsImlhdCI6MTc5NTMzNDU1MSwiaXNzIjoi\
            ZXhhbXBsZS5vcmciLCJqdGkiOiIyMDc5NjVlYjg1NWQxZmY4MmY5M2I2MTBiYzJmMzZhZiIsInNjb3BlIjoiY29uZG9yOlwvUkVBRCBjb25k\
            b3I6XC9XUklURSIsInN1YiI6ImFAYiJ9.SJ03SKiSjb3JJeGmlS4pkaqtsqtq_WpfPlYjM75Vt-0";
        assert_eq!(made, expected);
    }

    /// A key with another name is not concatenated with itself, and a password ends at its first NUL byte.
    /// condor_token_create printed the expected tokens.
    #[test]
    fn other_keys_and_passwords_sign_as_condor_token_create_does() {
        let made = |order: &TokenSpec, key: &[u8], id: &[u8]| {
            let token = sign_token(order, key, b"example.org", 1_795_334_733, id);
            token.rsplit('.').next().unwrap_or_default().to_owned()
        };
        let plain = |subject: &str, key: &str| TokenSpec {
            subject: subject.into(),
            scopes: Vec::new(),
            lifetime: -1,
            ..order(key)
        };
        let key = derive_signing_key(b"second\n\0key", false, false);
        let signature = made(&plain("al/b\"c@x", "AP"), &key, b"7f5b8e4a30727d96aba05e567c06cd6b");
        assert_eq!(signature, "KJIG7EgGRXJz94Hv-tqSqc7IsoSHX3pJTh7RofZBQq0");
        let key = derive_signing_key(b"pass\0word", true, true);
        let signature = made(&plain("z", "POOL"), &key, b"828a2e4bf30c797a8fdc08d1bdc0b7ee");
        assert_eq!(signature, "2nmaQbMmBmlF7UxQaV-v-SnMMDddc0lGwjU7Ndqj2C4");
    }

    #[test]
    fn a_key_that_is_a_password_ends_at_its_first_nul() {
        assert_eq!(derive_signing_key(b"ab\0cd", true, true), derive_signing_key(b"ab", true, false));
        assert_eq!(derive_signing_key(b"ab\0cd", false, true).len(), 5);
        // The byte 0xad becomes NUL when the key is unscrambled.
        assert_eq!(derive_signing_key(b"a\xadb", true, true), derive_signing_key(b"a", true, true));
    }

    #[test]
    fn texts_are_escaped_and_encoded() {
        assert_eq!(json_string(b"a\"b/c\\\n\x01\x7f"), "\"a\\\"b\\/c\\\\\\n\\u0001\\u007f\"");
        let coded = ["", "Zg", "Zm8", "Zm9v", "Zm9vYg"];
        for (at, coded) in coded.into_iter().enumerate() {
            assert_eq!(base64_url(&b"foob"[..at]), coded);
        }
        assert_eq!(base64_url(&[0xfb, 0xff]), "-_8");
    }
}
