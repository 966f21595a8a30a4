//! The fingerprint of a certificate.

use core::fmt;
use core::str::FromStr;

/// SHA-256 of a certificate's DER encoding, which identifies the holder of its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref()); // SHA-256 is 32 bytes by definition
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    /// `sha256=` and 64 hexadecimal digits, as in a URL's fragment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256=")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a fingerprint.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a certificate's fingerprint; write it like sha256=<64 hexadecimal digits>, as `pcc serve` prints it"
)]
pub struct ParseFingerprintError(String);

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    /// Reads what [`fmt::Display`] writes, and colons between the digits as other tools print them.
    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let error = || ParseFingerprintError(written.to_owned());
        let digits: String =
            written.trim().strip_prefix("sha256=").ok_or_else(error)?.chars().filter(|c| *c != ':').collect();
        let hash = blake3::Hash::from_hex(digits.as_bytes()).map_err(|_| error())?; // 32 bytes in hex, like ours
        Ok(Self(*hash.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_fingerprint_is_read_back_and_any_other_text_refused(bytes in any::<[u8; 32]>(), text in ".{0,80}") {
            prop_assert_eq!(Fingerprint(bytes).to_string().parse::<Fingerprint>().unwrap(), Fingerprint(bytes));
            if let Ok(read) = text.parse::<Fingerprint>() {
                prop_assert_eq!(read.to_string().to_lowercase(), text.trim().replace(':', "").to_lowercase());
            }
        }
    }

    #[test]
    fn it_is_the_sha256_that_other_tools_compute() {
        // printf abc | sha256sum
        let abc = "sha256=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Fingerprint::of(b"abc").to_string(), abc);
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let fingerprint = Fingerprint::of(b"abc");
        assert_eq!(fingerprint.to_string().parse::<Fingerprint>().unwrap(), fingerprint);
        let with_colons =
            "sha256=BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD";
        assert_eq!(with_colons.parse::<Fingerprint>().unwrap(), fingerprint);
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for wrong in
            ["", "sha256=", "sha256=ba78", "md5=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
        {
            let error = wrong.parse::<Fingerprint>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{wrong}`")) && error.contains("64 hexadecimal digits"), "{error}");
        }
    }
}
