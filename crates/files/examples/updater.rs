//! Keeps a file up to date that its publisher signs: fetches it, going on where an earlier run stopped, and puts it in place
//! only if the signature is right.
//!
//! ```text
//! cargo run -p pcc-files --example updater -- 'https://host:4433/app.tar#sha256=…' KEY app.tar
//! ```
//!
//! KEY is the publisher's Ed25519 public key in 64 hexadecimal digits. The signature lies beside the file, as `app.tar.sig`.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use pcc_files::get::{self, Target};
use pcc_files::{Source, Started, Url, Watch};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Tells of the progress on standard error.
struct Progress;

impl Watch for Progress {
    fn started(&self, started: Started<'_>) {
        let size = started.size.map_or("?".to_owned(), |size| size.to_string());
        let _ = writeln!(std::io::stderr(), "{}: {size} bytes, {} are here", started.url, started.resumed_from);
    }

    fn moved(&self, _bytes: u64) {}

    fn retry(&self, attempt: u32, wait: Duration, reason: &anyhow::Error) {
        let _ = writeln!(std::io::stderr(), "attempt {attempt} failed: {reason:#}; the next in {wait:?}");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, url, key, file] = words.as_slice() else { return Err("usage: updater URL KEY FILE".into()) };
    let (url, key) = (url.parse::<Url>()?, key_of(key)?);
    // What was fetched is kept: an unchanged file is asked about, and not fetched again.
    tokio::select! {
        done = update(&url, &key, Path::new(file)) => done,
        _ = tokio::signal::ctrl_c() => Err("interrupted: run it again to go on where it stopped".into()),
    }
}

/// Fetches file and signature, and puts the file in place if they belong together.
async fn update(url: &Url, key: &[u8], file: &Path) -> Result<(), Box<dyn Error>> {
    let source = Source::of(url, Arc::new(Progress));
    let (fetched, signature) = (beside(file, ".fetched"), beside(file, ".sig"));
    let outcome = fetch(&source, url, &fetched, &signature).await;
    source.close().await;
    outcome?;
    let bytes = std::fs::read(&fetched)?;
    if UnparsedPublicKey::new(&ED25519, key).verify(&bytes, &std::fs::read(&signature)?).is_err() {
        std::fs::remove_file(&fetched)?;
        return Err(format!("{} is not signed by this key: it was not put in place", url.short()).into());
    }
    let new = beside(file, ".new");
    std::fs::write(&new, &bytes)?;
    std::fs::rename(&new, file)?;
    Ok(())
}

async fn fetch(source: &Source, url: &Url, fetched: &Path, signature: &Path) -> pcc_files::Result<()> {
    get::file(source, url, &Target::File(fetched.to_owned())).await?;
    let of_the_signature = url.with_path(format!("{}.sig", url.encoded_path()).parse().unwrap_or(url.path.clone()));
    get::file(source, &of_the_signature, &Target::File(signature.to_owned())).await?;
    Ok(())
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn key_of(digits: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| Ok(u8::from_str_radix(core::str::from_utf8(pair)?, 16)?));
    let key: Vec<u8> = pairs.collect::<Result<_, Box<dyn Error>>>()?;
    if key.len() == 32 { Ok(key) } else { Err("KEY has 64 hexadecimal digits".into()) }
}
