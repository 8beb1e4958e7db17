//! Which names stand for credentials: of headers, and of parameters in URLs.
//!
//! One rule decides for the headers of a spec (refused), for recorded headers (dropped unless they are kept by name) and
//! for references (redacted). It errs on the side of the secret: a name that is none costs a line in a spec, a secret
//! that got out cannot be called back.

/// Credentials by their whole name, as [`letters`] writes it: headers of proxies and identity providers, `CloudFront`'s
/// `Policy` and `Key-Pair-Id`, the `q-ak` of Tencent COS, and what web frameworks call the session of a login.
const WHOLE: [&str; 11] = [
    "dpop",
    "jsessionid",
    "keypairid",
    "phpsessid",
    "policy",
    "qak",
    "sessionid",
    "xamznoidcdata",
    "xamznoidcidentity",
    "xforwardedclientcert",
    "xmsclientprincipal",
];

/// What marks a credential wherever it occurs in a name, as [`letters`] writes it.
const MARKS: [&str; 15] = [
    "accessid",
    "accesskey",
    "accesstoken",
    "apikey",
    "authkey",
    "authorization",
    "authtoken",
    "cookie",
    "credential",
    "jwt",
    "passphrase",
    "passwd",
    "password",
    "secret",
    "signature",
];

/// What marks a credential as the last word of a name.
const LAST_WORDS: [&str; 11] = [
    "assertion",
    "auth",
    "authentication",
    "bearer",
    "hmac",
    "key",
    "oauth",
    "pass",
    "pwd",
    "session",
    "sig",
];

/// What marks a credential at the end of the last word, where the words before it may be run together with it:
/// `subscriptionkey`, `idtoken`.
const LAST_WORD_ENDS: [&str; 2] = ["key", "token"];

/// Ends of names that are no credentials although their last word says so: these keys tell requests, entries or shards
/// apart.
const KEYS_OF_OTHER_KINDS: [&str; 6] = [
    "cachekey",
    "idempotencykey",
    "partitionkey",
    "publickey",
    "routingkey",
    "shardkey",
];

/// Whether a header or a URL parameter of this name carries, or seems to carry, a credential.
///
/// Upper and lower case, `-`, `_`, `.` and camel case make no difference: `x-api-key`, `X_API_KEY` and `xApiKey` are
/// one. A name is a credential's when one of these holds:
///
/// - it begins with the word `proxy` and goes on (`proxy-authorization`);
/// - it has a telling word anywhere: `authorization`, `cookie`, `credential`, `jwt`, `password`, `secret`, `signature`,
///   `api-key`, `access-key`, `auth-key` and the like;
/// - it ends with one: `key`, `token`, `auth`, `pass`, `session`, `sig`, `hmac` and the like. A number after it does not
///   count;
/// - it is one of a few names that are known as a whole, such as `dpop`, `Key-Pair-Id` and `session-id`.
///
/// No credentials are names that only look alike: counts and tools of tokens (`max_tokens`, `tokenizer`), what ties
/// requests together (`x-session-id`, `x-session-affinity`, `x-request-id`, `traceparent`), and keys that open nothing
/// (`idempotency-key`, `prompt_cache_key`). Percent-encoded names are for the caller to decode.
#[must_use]
pub fn is_credential_name(name: &str) -> bool {
    let letters = letters(name);
    let has = |marks: &[&str], fits: fn(&str, &str) -> bool| marks.iter().any(|mark| fits(&letters, mark));
    if WHOLE.contains(&letters.as_str()) || has(&MARKS, |name, mark| name.contains(mark)) {
        return true;
    }
    let words: Vec<&str> = words(name).collect();
    match words.as_slice() {
        [] => false,
        [first, _, ..] if first.eq_ignore_ascii_case("proxy") => true,
        [.., last] => !has(&KEYS_OF_OTHER_KINDS, |name, end| name.ends_with(end)) && is_credential_word(last),
    }
}

fn is_credential_word(word: &str) -> bool {
    let whole = word.to_ascii_lowercase();
    LAST_WORDS.contains(&whole.as_str())
        || LAST_WORDS.contains(&last_hump(word).to_ascii_lowercase().as_str())
        || LAST_WORD_ENDS.iter().any(|end| whole.ends_with(end))
}

/// The name's letters and digits in lower case.
fn letters(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// The words between the separators, without the digits at their ends and without what has no letters at all.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric())
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()))
        .filter(|word| !word.is_empty())
}

/// The last word of a word in camel case: `Session` of `userSession`, all of `SESSION`.
fn last_hump(word: &str) -> &str {
    let start = word
        .char_indices()
        .zip(word.chars().skip(1))
        .filter_map(|((at, left), right)| {
            let is_start = !left.is_ascii_uppercase() && right.is_ascii_uppercase();
            is_start.then_some(at + left.len_utf8())
        });
    &word[start.last().unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_recognised() {
        for name in [
            "authorization",
            "proxy-authorization",
            "proxy-foo",
            "x-goog-iam-authorization-token",
            "cookie",
            "set-cookie",
            "cookie2",
            "x-api-key",
            "api-key",
            "apikey",
            "x-goog-api-key",
            "openai-api-key-2",
            "ocp-apim-subscription-key",
            "subscriptionkey",
            "x-functions-key",
            "x-request-key",
            "key",
            "key1",
            "x-amz-security-token",
            "X-Amz-Credential",
            "X-Amz-Signature",
            "X-Goog-Credential",
            "X-Goog-Signature",
            "AWSAccessKeyId",
            "OSSAccessKeyId",
            "GoogleAccessId",
            "Key-Pair-Id",
            "Policy",
            "q-ak",
            "sig",
            "q-signature",
            "x-hub-signature-256",
            "x-hmac",
            "x-auth",
            "x-auth-token",
            "authtoken",
            "auth",
            "oauth",
            "x-authentication",
            "client_assertion",
            "bearer",
            "token",
            "id_token",
            "idtoken",
            "hf-token",
            "secret",
            "client_secret_id",
            "pass",
            "pwd",
            "passwd",
            "password",
            "x-user-password-hash",
            "credentials",
            "x-goog-iap-jwt-assertion",
            "jwt",
            "session",
            "x-user-session",
            "sessionid",
            "session_id",
            "JSESSIONID",
            "DPoP",
            "x-amzn-oidc-data",
            "x-forwarded-client-cert",
            "x-ms-client-principal",
        ] {
            assert!(is_credential_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_alike_are_none() {
        for name in [
            "",
            "-",
            "x-team",
            "user-agent",
            "content-type",
            "accept",
            "openai-organization",
            "x-request-id",
            "x-correlation-id",
            "traceparent",
            "tracestate",
            "x-session-affinity",
            "x-session-id",
            "idempotency-key",
            "Idempotency_Key",
            "idempotencyKey",
            "prompt_cache_key",
            "x-routing-key",
            "x-partition-key",
            "max_tokens",
            "maxTokens",
            "x-max-completion-tokens",
            "tokenizer",
            "token-count",
            "x-token-type",
            "keyword",
            "keys",
            "x-keep-alive",
            "compass",
            "bypass",
            "author",
            "x-author",
            "signed",
            "X-Amz-SignedHeaders",
            "X-Amz-Date",
            "X-Amz-Expires",
            "X-Goog-Date",
            "x-goog-user-project",
            "Expires",
            "content-security-policy",
            "passive",
            "proxy",
            "x-forwarded-for",
            "api-version",
            "design",
            "2",
        ] {
            assert!(!is_credential_name(name), "{name}");
        }
    }

    #[test]
    fn spelling_makes_no_difference() {
        for name in [
            "X-API-KEY",
            "x_api_key",
            "xApiKey",
            "X.Api.Key",
            "APIKey",
            "XAPIKEY",
            "ToKeN",
            "AUTHORIZATION",
            "userSession",
            "USER_SESSION",
            "sessionId",
            "accessKey",
            "ACCESS-KEY",
            "übungKey",
        ] {
            assert!(is_credential_name(name), "{name}");
        }
    }
}
