//! The token: its holders may upload, and have tunnels.

use blake3::Hash;
use core::fmt;
use core::time::Duration;
use http::{HeaderMap, header};

/// A bearer token (RFC 6750). Only its hash is kept: comparing hashes takes the same time whatever was sent, and nothing
/// that is printed by accident gives it away.
#[derive(Clone, Copy)]
pub struct Token(Hash);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Bytes of a generated token: as hard to guess as a key.
const LENGTH: usize = 16;

/// A wrong token is answered after this, so that guessing takes for ever.
const GUESSING: Duration = Duration::from_millis(300);

impl Token {
    /// This text.
    pub fn new(text: &str) -> Self {
        Self(blake3::hash(text.as_bytes()))
    }

    /// A new one and its text.
    ///
    /// Errors: the system gives no random numbers.
    pub fn generate() -> std::io::Result<(Self, String)> {
        let mut secret = [0; LENGTH];
        aws_lc_rs::rand::fill(&mut secret).map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
        let text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((Self::new(&text), text))
    }

    /// Whether a request bears it; of one that does not, after a while.
    pub(super) async fn opens(&self, headers: &HeaderMap) -> bool {
        let is_borne = self.is_borne_by(headers);
        if !is_borne {
            tokio::time::sleep(GUESSING).await;
        }
        is_borne
    }

    fn is_borne_by(&self, headers: &HeaderMap) -> bool {
        let credentials = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or("");
        match credentials.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Self::new(token.trim()).0 == self.0,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn bears(token: &Token, credentials: &str) -> bool {
        token.is_borne_by(&HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_str(credentials).unwrap())]))
    }

    #[test]
    fn only_the_exact_token_opens() {
        let (token, text) = Token::generate().unwrap();
        assert!(bears(&token, &format!("Bearer {text}")));
        assert!(bears(&token, &format!("bearer {text}")));
        for wrong in ["", "Bearer", "Bearer ", &text, &format!("Basic {text}"), &format!("Bearer {text}0"), "Bearer x"]
        {
            assert!(!bears(&token, wrong), "{wrong}");
        }
        assert!(!token.is_borne_by(&HeaderMap::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn guessing_takes_its_time() {
        let begun = tokio::time::Instant::now();
        assert!(!Token::new("secret").opens(&HeaderMap::new()).await);
        assert_eq!(begun.elapsed(), GUESSING);
    }

    #[test]
    fn a_token_is_never_printed() {
        assert_eq!(format!("{:?}", Token::new("secret")), "Token");
    }
}
