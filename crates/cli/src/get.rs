//! `pcc get`: downloads that survive a bad network.
//!
//! | file | what it answers |
//! |---|---|
//! | `transfer` | how one file arrives, from the first request to its final name |
//! | `tree` | how a whole directory does |
//! | `source` | how the server is reached, and reached again |
//! | `request` | what is asked, and what the answers mean |
//! | `store` | where the bytes go, and what is good of what an earlier run left |
//! | `already` | whether it is here already |
//! | `listing` | what a server says is in a directory |
//! | `claim` | whose a partial file is |
//! | `journal` | what is known of it |
//! | `plain` | how files are opened |
//! | `names` | which names are safe |
//! | `patience`, `backoff` | how long to go on trying, and to wait in between |
//! | `watch`, `display`, `amount` | what the user sees |

mod already;
mod amount;
mod backoff;
mod claim;
pub(crate) mod display;
mod journal;
mod listing;
pub(crate) mod names;
pub(crate) mod patience;
mod plain;
pub(crate) mod request;
pub(crate) mod source;
mod store;
pub(crate) mod transfer;
mod tree;
pub(crate) mod watch;

use transfer::Fetched;

use crate::exit::Failure;
use crate::link;
use crate::session::{Moved, SessionArgs, missing, tell_end};
use crate::written_url::WrittenUrl;
use anyhow::{Context, anyhow};
use display::Display;
use pcc_net::shown;
use pcc_net::url::Url;
use request::Refused;
use serde_json::json;
use source::Source;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Target;

const EXAMPLES: &str = "\
Examples, with the address that `pcc serve` prints:
  pcc get 'https://host:4433/big.iso#sha256=…'
      into ./big.iso; run it again to go on after an interruption
  pcc get 'https://host:4433/big.iso#sha256=…' -o /tmp/
      into /tmp/big.iso
  pcc get 'https://host:4433/logs/#sha256=…'
      a whole directory, into ./logs
  pcc get 'https://host:4433/#sha256=…' -o all
      all that the server has, into ./all; without -o into ./host
  pcc get 'https://host:4433/backup.tar#sha256=…' -o - | tar x
      as it comes
  pcc get https://example.org/big.iso
      from any HTTP/3 server, at port 443

Exit codes: 0 done, 1 error, 2 misused, 3 some entries of a directory missing,
4 data damaged, 5 server unreachable";

/// Arguments of `pcc get`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to download, as `pcc serve` prints it: a file, or a directory
    ///
    /// Any HTTP/3 server will do. The part from # on names the server's certificate; without it the certificate must
    /// come from an authority that this computer trusts. Mind the quotes: # and ? mean something to shells.
    #[arg(value_parser = WrittenUrl)]
    url: Url,

    /// Destination: a file, a directory, or - for standard output [default: the name in the URL]
    ///
    /// A directory download goes into DIR itself, which is made if need be. Without -o, all that a server has goes into
    /// a directory of the server's name. An existing file is replaced once the new one is complete; until then the data
    /// is in `.NAME.pcc-part` next to it.
    #[arg(short, long, value_name = "FILE|DIR|-")]
    output: Option<PathBuf>,

    // A download is sent by the server, whose options decide about its speed: these are for requests and acknowledgements,
    // but `--limit` is also how fast the download is taken.
    #[command(flatten)]
    session: SessionArgs,
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let display = args.session.display();
    let outcome = download(&args, &display).await;
    tell_end(&outcome, &display);
    outcome
}

async fn download(args: &Args, display: &Arc<Display>) -> anyhow::Result<()> {
    let place = Place::of(args, &args.url)?;
    let work = async |source: &Source| {
        let outcome = place.fill(source, &args.url, display).await;
        match outcome.as_ref().err().and_then(|error| slashed(&args.url, error)) {
            Some(directory) => Place::of(args, &directory)?.fill(source, &directory, display).await,
            None => outcome,
        }
    };
    args.session.carry_out(&args.url, display, work).await
}

/// The directory that was meant, if the server says that this URL lacks but the slash of one.
fn slashed(url: &Url, error: &anyhow::Error) -> Option<Url> {
    let Some(Refused::Moved { to, .. }) = error.downcast_ref() else { return None };
    let is_its_own = to.strip_suffix('/') == Some(url.path.as_str());
    is_its_own.then(|| to.parse().ok()).flatten().map(|path| url.with_path(path))
}

/// Where a download goes.
enum Place {
    File(Target),
    Directory(PathBuf),
}

impl Place {
    fn of(args: &Args, url: &Url) -> anyhow::Result<Self> {
        let usage = |text: String| Err(anyhow!(text).context(Failure::Usage));
        let stdout = args.output.as_deref() == Some(Path::new("-"));
        if stdout && args.session.json {
            return usage("`--json` and `-o -` both want standard output: leave out one".to_owned());
        }
        if names::is_directory(url) {
            return match &args.output {
                Some(_) if stdout => usage(format!("{} is a directory: give one with -o DIR", url.short())),
                Some(dir) if dir.exists() && !dir.is_dir() => {
                    usage(format!("{} is a file, and {} a directory: give one with -o DIR", dir.display(), url.short()))
                }
                // Where the user says may be a link; what is below is the server's choice.
                Some(dir) => Ok(Self::Directory(dir.canonicalize().unwrap_or_else(|_| dir.clone()))),
                None => Ok(Self::Directory(names::of_url(url)?.into())),
            };
        }
        let named = match &args.output {
            Some(_) if stdout => return Ok(Self::File(Target::Stdout)),
            Some(path) if path.is_dir() => path.join(names::of_url(url)?),
            Some(path) if path.file_name().is_none() || ends_with_separator(path) => {
                return usage(format!("there is no directory {}: make it first", path.display()));
            }
            Some(path) => path.clone(),
            None => names::of_url(url)?.into(),
        };
        match std::fs::metadata(&named) {
            Ok(found) if found.is_dir() => {
                usage(format!("{} is a directory: choose another name with -o FILE", named.display()))
            }
            Ok(found) if !found.is_file() => usage(format!("{} is no plain file: use `-o - > {0}`", named.display())),
            // Where the user says may be a link: what it leads to is replaced, and that is where the data waits.
            _ => {
                let followed = link::followed(&named).with_context(|| {
                    format!("could not follow the link {}: choose another place with -o FILE", named.display())
                })?;
                Ok(Self::File(Target::File(followed)))
            }
        }
    }

    async fn fill(&self, source: &Source, url: &Url, display: &Display) -> anyhow::Result<()> {
        match self {
            Self::File(target) => {
                let here = match target {
                    Target::File(path) => already::already(source, url, path, None).await?,
                    Target::Stdout => None,
                };
                let fetched = match here {
                    Some(here) => here,
                    None => transfer::transfer(source, url, target).await?,
                };
                file_done(target, &fetched, display);
                Ok(())
            }
            Self::Directory(dir) => {
                let each = |path: &Path, fetched: &Fetched| display.line(&object("file", Some(path), fetched));
                let tree = tree::fetch_tree(source, url, dir, &each).await?;
                tree_done(dir, tree, display)
            }
        }
    }
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|last| std::path::is_separator(char::from(*last)))
}

/// What is said of a file that is complete.
fn object(event: &str, file: Option<&Path>, fetched: &Fetched) -> serde_json::Value {
    json!({
        "event": event,
        "bytes": fetched.bytes,
        "seconds": fetched.seconds,
        "goodput_mbps": moved(fetched).goodput().bits_per_sec() / 1e6,
        "resumed_from": fetched.resumed_from,
        "digest": format!("blake3={}", fetched.digest.to_hex()),
        "verified": fetched.verified,
        "file": file.map(Path::to_string_lossy),
    })
}

fn file_done(target: &Target, fetched: &Fetched, display: &Display) {
    let file = if let Target::File(path) = target { Some(path.as_path()) } else { None };
    display.line(&object("done", file, fetched));
    let name = file.map_or("standard output".into(), |file| shown(&file.to_string_lossy()));
    let check = if fetched.verified { "verified by BLAKE3" } else { "not verified: the server gives no digest" };
    display.conclude(&moved(fetched).told(&name, None, check));
}

const fn moved(fetched: &Fetched) -> Moved {
    Moved { bytes: fetched.bytes, resumed_from: fetched.resumed_from, seconds: fetched.seconds }
}

fn tree_done(dir: &Path, tree: tree::Tree, display: &Display) -> anyhow::Result<()> {
    let seconds = display.elapsed().as_secs_f64();
    let moved = Moved { bytes: tree.bytes, resumed_from: tree.resumed_from, seconds };
    display.line(&json!({
        "event": "done",
        "bytes": tree.bytes,
        "seconds": seconds,
        "goodput_mbps": moved.goodput().bits_per_sec() / 1e6,
        "resumed_from": tree.resumed_from,
        "files": tree.files,
        "failed": tree.failed,
        "verified": tree.unverified == 0,
        "file": dir.to_string_lossy(),
    }));
    let check = match tree.unverified {
        _ if tree.files == 0 => "nothing to verify".to_owned(),
        0 => "verified by BLAKE3".to_owned(),
        some => format!("{some} not verified: the server gives no digest"),
    };
    display.conclude(&moved.told(&shown(&dir.to_string_lossy()), Some(tree.files), &check));
    match tree.failed {
        0 => Ok(()),
        some => {
            let failure = if tree.damaged { Failure::Integrity } else { Failure::Partial };
            Err(anyhow!("{}, as told above; the rest is in {}", missing(some), dir.display()).context(failure))
        }
    }
}

#[cfg(test)]
mod tests;
