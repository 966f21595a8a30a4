//! `pcc get`: downloads that survive a bad network.

pub(crate) mod display;

use crate::choice::{ChoiceArgs, Rehearsal, list};
use crate::exit::Failure;
use crate::remote::{self, RemoteArgs, WrittenPlace};
use crate::session::{Moved, SessionArgs, each, missing};
use anyhow::{Context, anyhow};
use display::Display;
use pcc_files::get::{self, Fetched, Target, Tree};
use pcc_files::{Choice, Error, Look, Names, Source, Step, link};
use pcc_net::shown;
use pcc_net::url::Url;
use pcc_remote::Wish;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
  pcc get 'https://host:4433/a#sha256=…' 'https://host:4433/b#sha256=…' -o /tmp/
      one after the other
  pcc get https://example.org/big.iso
      from any HTTP/3 server, at port 443
  pcc get me@host:big.iso
      from a computer that ssh reaches, and that has pcc; nothing else runs there
  pcc get 'me@host:logs/*.gz' -o /tmp/
      what the pattern matches there, into /tmp
  pcc get me@host:site -n --delete --exclude '*.tmp'
      what would change here if ./site became as it is there

Exit codes: 0 done, 1 error, 2 misused, 3 some entries of a directory missing,
4 data damaged, 5 server unreachable, 130 interrupted";

/// Arguments of `pcc get`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to download, a file or a directory: a URL as `pcc serve` prints it, or user@host:path
    ///
    /// Any HTTP/3 server will do. The part from # on names the server's certificate; without it the certificate must
    /// come from an authority that this computer trusts. Mind the quotes: # and ? mean something to shells.
    /// Several are downloaded one after the other.
    ///
    /// For user@host:path, ssh starts `pcc` on that computer for this transfer, as scp and rsync do. The data goes over UDP
    /// beside ssh's connection. `./a:b` is no such place.
    #[arg(value_name = "URL|HOST:PATH", value_parser = WrittenPlace, required = true)]
    from: Vec<remote::Place>,

    /// Destination: a file, a directory, or - for standard output [default: the name in the URL]
    ///
    /// A directory download goes into DIR itself, which is made if need be; of several, each into a directory of its name there. Without -o, all that a server has goes into
    /// a directory of the server's name. An existing file is replaced once the new one is complete; until then the data
    /// is in `.NAME.pcc-part` next to it.
    #[arg(short, long, value_name = "FILE|DIR|-")]
    output: Option<PathBuf>,

    /// At the end delete what is in the destination directory and not at the server
    ///
    /// Excluded files stay. Nothing is deleted unless all directories could be listed and all files fetched. The server's list
    /// decides, so try it with --dry-run.
    #[arg(long)]
    delete: bool,

    #[command(flatten)]
    choice: ChoiceArgs,

    // A download is sent by the server, whose options decide about its speed: these are for requests and acknowledgements,
    // but `--limit` is also how fast the download is taken.
    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    if let Some(output) = args.output.as_deref().filter(|output| args.from.len() > 1 && !output.is_dir()) {
        let problem = anyhow!("-o {}: several downloads need a directory that exists", output.display());
        return Err(problem.context(Failure::Usage));
    }
    let choice = Choice { delete: args.delete, ..args.choice.choice()? };
    each(&args.from, &args.session, async |from, display| fetch(&args, from, &choice, display).await).await
}

/// Downloads it, from a server that ssh starts first if need be.
async fn fetch(args: &Args, from: &remote::Place, choice: &Choice, display: &Arc<Display>) -> anyhow::Result<()> {
    match from {
        remote::Place::Url(url) => download(args, url, choice, display).await,
        remote::Place::Remote(place) => {
            let (path, only) = place.pattern();
            let choice = match only {
                Some(pattern) => {
                    let only = Some(Names::new(pattern).map_err(Error::into_anyhow)?);
                    Choice { only, ..choice.clone() }
                }
                None => choice.clone(),
            };
            let wish = Wish::Get(path.to_owned());
            let reached = args.remote.reach(place, wish, args.session.patience()).await?;
            let outcome = download(args, &reached.url, &choice, display).await;
            remote::end(reached, outcome).await
        }
    }
}

async fn download(args: &Args, url: &Url, choice: &Choice, display: &Arc<Display>) -> anyhow::Result<()> {
    let place = Place::of(args, url, choice)?;
    let work = async |source: &Source| {
        let outcome = place.fill(source, url, choice, display).await;
        let outcome = match outcome.as_ref().err().and_then(|error| get::slashed(url, error)) {
            Some(directory) => Place::of(args, &directory, choice)?.fill(source, &directory, choice, display).await,
            None => outcome,
        };
        outcome.map_err(Error::into_anyhow)?
    };
    args.session.carry_out(url, display, work).await
}

/// Where a download goes.
enum Place {
    File(Target),
    Directory(PathBuf),
}

impl Place {
    fn of(args: &Args, url: &Url, choice: &Choice) -> anyhow::Result<Self> {
        let usage = |text: String| Err(anyhow!(text).context(Failure::Usage));
        let stdout = args.output.as_deref() == Some(Path::new("-"));
        if stdout && args.session.json {
            return usage("`--json` and `-o -` both want standard output: leave out one".to_owned());
        }
        if get::is_directory(url) {
            return match &args.output {
                Some(_) if stdout => usage(format!("{} is a directory: give one with -o DIR", url.short())),
                Some(dir) if dir.exists() && !dir.is_dir() => {
                    usage(format!("{} is a file, and {} a directory: give one with -o DIR", dir.display(), url.short()))
                }
                Some(dir) if args.from.len() > 1 && choice.only.is_none() => {
                    Ok(Self::Directory(dir.join(name_of(url)?)))
                }
                // Where the user says may be a link; what is below is the server's choice.
                Some(dir) => Ok(Self::Directory(dir.canonicalize().unwrap_or_else(|_| dir.clone()))),
                None if choice.only.is_some() => Ok(Self::Directory(PathBuf::from(".").canonicalize()?)),
                None => Ok(Self::Directory(name_of(url)?.into())),
            };
        }
        let named = match &args.output {
            Some(_) if stdout => return Ok(Self::File(Target::Stdout)),
            Some(path) if path.is_dir() => path.join(name_of(url)?),
            Some(path) if path.file_name().is_none() || ends_with_separator(path) => {
                return usage(format!("there is no directory {}: make it first", path.display()));
            }
            Some(path) => path.clone(),
            None => name_of(url)?.into(),
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

    async fn fill(
        &self,
        source: &Source,
        url: &Url,
        choice: &Choice,
        display: &Display,
    ) -> Result<anyhow::Result<()>, Error> {
        match self {
            Self::File(target) if choice.dry_run => {
                let found = get::look(source, url, target).await?;
                file_found(target, found, display);
                Ok(Ok(()))
            }
            Self::File(target) => {
                let fetched = get::file(source, url, target).await?;
                file_done(target, &fetched, display);
                Ok(Ok(()))
            }
            Self::Directory(dir) => {
                let verb = if choice.dry_run { "delete" } else { "deleted" };
                let each = |step: Step<'_, Path, Fetched>| match step {
                    Step::Complete(path, fetched) => display.line(&object("file", Some(path), fetched)),
                    Step::Due(path, bytes) => list(display, "get", "due", "file", &path.to_string_lossy(), bytes),
                    Step::Deleted(path) => list(display, verb, "deleted", "file", &path.to_string_lossy(), None),
                };
                let tree = get::directory(source, url, dir, choice, &each).await?;
                Ok(tree_done(dir, tree, choice.dry_run, display))
            }
        }
    }
}

/// What to call it where nobody says.
fn name_of(url: &Url) -> anyhow::Result<String> {
    get::name_of(url).map_err(|error| anyhow!("{error} with -o").context(Failure::Usage))
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

/// What a dry run found of a file.
fn file_found(target: &Target, found: Look<Fetched>, display: &Display) {
    let name = if let Target::File(path) = target { path.to_string_lossy() } else { "standard output".into() };
    let (due, due_bytes) = match found {
        Look::There(_) => (0, 0),
        Look::Due(bytes) => {
            list(display, "get", "due", "file", &name, bytes);
            (1, bytes.unwrap_or(0))
        }
    };
    Rehearsal { due, due_bytes, there: 1 - due, deleted: 0 }.tell("file", &name, 0, display);
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

fn tree_done(dir: &Path, tree: Tree, dry_run: bool, display: &Display) -> anyhow::Result<()> {
    if dry_run {
        let Tree { due, due_bytes, files: there, deleted, failed, .. } = tree;
        Rehearsal { due, due_bytes, there, deleted }.tell("file", &dir.to_string_lossy(), failed, display);
        return all_there(dir, &tree);
    }
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
        "deleted": tree.deleted,
        "verified": tree.unverified == 0,
        "file": dir.to_string_lossy(),
    }));
    let check = match tree.unverified {
        _ if tree.files == 0 => "nothing to verify".to_owned(),
        0 => "verified by BLAKE3".to_owned(),
        some => format!("{some} not verified: the server gives no digest"),
    };
    display.conclude(&moved.told(&shown(&dir.to_string_lossy()), Some(tree.files), &check));
    all_there(dir, &tree)
}

fn all_there(dir: &Path, tree: &Tree) -> anyhow::Result<()> {
    match tree.failed {
        0 => Ok(()),
        some => {
            let failure = if tree.damaged { Failure::Integrity } else { Failure::Partial };
            Err(anyhow!("{}, as told above; the rest is in {}", missing(some), dir.display()).context(failure))
        }
    }
}
