//! `pcc put`: uploads that survive a bad network.

use crate::choice::{ChoiceArgs, Rehearsal, list};
use crate::exit::Failure;
use crate::get::display::Display;
use crate::remote::{self, RemoteArgs, WrittenPlace};
use crate::session::{Moved, SessionArgs, each, missing};
use crate::token;
use anyhow::{Context, anyhow};
use pcc_files::put::{self, Sent, Uploaded, below, name_of};
use pcc_files::{Choice, Error, Look, Source, Step};
use pcc_net::url::Url;
use pcc_remote::Wish;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples, with the address and the token that `pcc serve --writable` prints:
  PCC_TOKEN=… pcc put big.iso 'https://host:4433/#sha256=…'
      to /big.iso there; run it again to go on after an interruption
  pcc put big.iso 'https://host:4433/other.iso#sha256=…' --token-file t
      under another name
  pcc put logs 'https://host:4433/#sha256=…'
      a whole directory, to /logs/
  pcc put a b logs 'https://host:4433/#sha256=…'
      one after the other
  tar c . | pcc put - 'https://host:4433/backup.tar#sha256=…'
      as it comes
  pcc put big.iso me@host:isos/
      to a computer that ssh reaches, and that has pcc; it needs no token
  pcc put -a --delete site me@host:
      make ./site there what it is here: times and permissions, too
  pcc put site me@host: -n --exclude '*.tmp' --exclude /cache/
      which files would be sent

Exit codes: 0 done, 1 error, 2 misused, 3 some entries of a directory missing,
4 data damaged, 5 server unreachable, 130 interrupted";

/// Upload a file, a directory or standard input
///
/// The server keeps the part of an interrupted upload that it has. The same command goes on from there, and skips files
/// that the server has already. A file gets its name when all of it has arrived and its BLAKE3 is right. -a keeps times and
/// permissions; links are not sent: `tar` them.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to upload: a file, a directory, or - for standard input
    ///
    /// Several go one after the other into a directory there.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,

    /// Destination, a URL or user@host:path; one that ends in `/` is a directory, and the source keeps its name in it
    ///
    /// For user@host:path, ssh starts `pcc` on that computer for this transfer, as scp and rsync do. The path may also be that
    /// of a directory which is there.
    #[arg(value_name = "URL|HOST:PATH", value_parser = WrittenPlace)]
    to: remote::Place,

    /// Read the token from the first line of this file [default: the environment variable PCC_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// At the end delete what is in the destination directory and not in the source
    ///
    /// Only in the directory that SOURCE becomes there, and only if the server runs with --allow-delete, as one that ssh starts does.
    /// Excluded files stay. Nothing is deleted unless all of the source could be read and sent. Try it with --dry-run.
    #[arg(long)]
    delete: bool,

    #[command(flatten)]
    choice: ChoiceArgs,

    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    if let remote::Place::Url(url) = &args.to
        && args.sources.len() > 1
        && !url.encoded_path().ends_with('/')
    {
        let problem = anyhow!("several uploads need a directory: end the URL's path with `/`, in front of any #");
        return Err(problem.context(Failure::Usage));
    }
    let choice = Choice { delete: args.delete, ..args.choice.choice()? };
    each(&args.sources, &args.session, async |path, display| send(&args, path, &choice, display).await).await
}

/// Uploads it, to a server that ssh starts first if need be.
async fn send(args: &Args, path: &Path, choice: &Choice, display: &Arc<Display>) -> anyhow::Result<()> {
    match &args.to {
        remote::Place::Url(url) => upload(args, path, url, &token_of(args)?, choice, display).await,
        remote::Place::Remote(place) => {
            // What is not there needs no connection.
            if path != Path::new("-") {
                looked_at(path)?;
            }
            // Several go into a directory, also where there is none yet.
            let needs_slash = args.sources.len() > 1 && !place.path.is_empty() && !place.path.ends_with('/');
            let to = place.path.clone() + if needs_slash { "/" } else { "" };
            let wish = if choice.dry_run { Wish::Look(to) } else { Wish::Put(to) };
            let reached = args.remote.reach(place, wish, args.session.patience()).await?;
            let token = reached.token.clone().unwrap_or_default();
            let outcome = upload(args, path, &reached.url, &token, choice, display).await;
            remote::end(reached, outcome).await
        }
    }
}

fn token_of(args: &Args) -> anyhow::Result<String> {
    token::given(args.token_file.as_deref()).map_err(|error| error.context(Failure::Usage))?.ok_or_else(|| {
        anyhow!("an upload needs the server's token: set {} or name a file with --token-file", token::VARIABLE)
            .context(Failure::Usage)
    })
}

async fn upload(
    args: &Args,
    path: &Path,
    url: &Url,
    token: &str,
    choice: &Choice,
    display: &Arc<Display>,
) -> anyhow::Result<()> {
    let plan = Plan::of(path, url)?;
    args.session.carry_out(url, display, async |source| plan.carry_out(source, token, choice, display).await).await
}

fn looked_at(path: &Path) -> anyhow::Result<std::fs::Metadata> {
    std::fs::metadata(path).with_context(|| format!("could not read {}", path.display()))
}

/// What to upload where.
enum Plan {
    Stdin(Url),
    File(PathBuf, Url),
    Directory(PathBuf, Url),
}

impl Plan {
    fn of(path: &Path, url: &Url) -> anyhow::Result<Self> {
        if let Some(query) = url.path.query() {
            let (peer, path) = (&url.peer, url.encoded_path());
            return Err(anyhow!(
                "{} has a query, `?{query}`, and uploads have none: leave it out, or write the name's `?` as %3F, like \
                 https://{peer}{path}%3F{query}",
                url.short()
            )
            .context(Failure::Usage));
        }
        let into_directory = url.encoded_path().ends_with('/');
        if path == Path::new("-") {
            if into_directory {
                let url = url.short();
                return Err(anyhow!("standard input has no name: give one, like {url}NAME").context(Failure::Usage));
            }
            if put::stdin_is_closed() {
                let why = "standard input is closed, so there is nothing to upload: use `pcc put - URL < FILE`";
                return Err(anyhow!(why).context(Failure::Usage));
            }
            return Ok(Self::Stdin(url.clone()));
        }
        let found = looked_at(path)?;
        let url = if into_directory {
            below(url, &name_of(path).map_err(Error::into_anyhow)?).map_err(Error::into_anyhow)?
        } else {
            url.clone()
        };
        if found.is_dir() {
            Ok(Self::Directory(path.to_owned(), url))
        } else if found.is_file() {
            Ok(Self::File(path.to_owned(), url))
        } else {
            Err(anyhow!("{} is no plain file: use `{}`", path.display(), piped(path)).context(Failure::Usage))
        }
    }

    async fn carry_out(&self, source: &Source, token: &str, choice: &Choice, display: &Display) -> anyhow::Result<()> {
        let (uploaded, url) = match self {
            Self::Directory(dir, url) => return directory(dir, url, source, token, choice, display).await,
            Self::File(path, url) if choice.dry_run => {
                let found = put::look(source, path, url).await.map_err(Error::into_anyhow)?;
                file_found(url, &found, display);
                return Ok(());
            }
            Self::Stdin(_) if choice.dry_run => {
                let problem = anyhow!("standard input can be read only once, so there is no dry run of it");
                return Err(problem.context(Failure::Usage));
            }
            Self::Stdin(url) => (put::stdin(source, url, token).await, url),
            Self::File(path, url) => (put::file(source, path, url, token).await, url),
        };
        let uploaded = uploaded.map_err(Error::into_anyhow)?;
        display.line(&object("done", &uploaded, url));
        display.conclude(&moved(&uploaded).told(&url.short(), None, "verified by BLAKE3"));
        Ok(())
    }
}

/// Uploads a directory with all that is in it.
async fn directory(
    dir: &Path,
    url: &Url,
    source: &Source,
    token: &str,
    choice: &Choice,
    display: &Display,
) -> anyhow::Result<()> {
    let verb = if choice.dry_run { "delete" } else { "deleted" };
    let each = |step: Step<'_, Url, Uploaded>| match step {
        Step::Complete(to, uploaded) => display.line(&object("file", uploaded, to)),
        Step::Due(to, bytes) => list(display, "put", "due", "url", &to.short(), bytes),
        Step::Deleted(to) => list(display, verb, "deleted", "url", &to.short(), None),
    };
    let sent = put::directory(source, dir, url, token, choice, &each).await.map_err(Error::into_anyhow)?;
    if choice.dry_run {
        let Sent { due, due_bytes, files: there, failed, deleted, .. } = sent;
        Rehearsal { due, due_bytes, there, deleted }.tell("url", &url.short(), failed, display);
        return all_there(&sent);
    }
    let Sent { files, bytes, resumed_from, failed, seconds, .. } = sent;
    let moved = Moved { bytes, resumed_from, seconds };
    let goodput = moved.goodput().bits_per_sec() / 1e6;
    display.line(&json!({"event": "done", "bytes": bytes, "seconds": seconds, "goodput_mbps": goodput,
        "resumed_from": resumed_from, "files": files, "failed": failed, "deleted": sent.deleted, "verified": true, "url": url.short()}));
    let check = if files == 0 { "nothing to verify" } else { "verified by BLAKE3" };
    display.conclude(&moved.told(&url.short(), Some(files), check));
    all_there(&sent)
}

/// What a dry run found of a file.
fn file_found(url: &Url, found: &Look<Uploaded>, display: &Display) {
    let (due, due_bytes) = match found {
        Look::There(_) => (0, 0),
        Look::Due(bytes) => {
            list(display, "put", "due", "url", &url.short(), *bytes);
            (1, bytes.unwrap_or(0))
        }
    };
    Rehearsal { due, due_bytes, there: 1 - due, deleted: 0 }.tell("url", &url.short(), 0, display);
}

fn all_there(sent: &Sent) -> anyhow::Result<()> {
    match sent.failed {
        0 => Ok(()),
        some => {
            let failure = if sent.damaged { Failure::Integrity } else { Failure::Partial };
            Err(anyhow!("{} there, as told above", missing(some)).context(failure))
        }
    }
}

const fn moved(uploaded: &Uploaded) -> Moved {
    Moved { bytes: uploaded.bytes, resumed_from: uploaded.resumed_from, seconds: uploaded.seconds }
}

fn object(event: &str, uploaded: &Uploaded, url: &Url) -> serde_json::Value {
    json!({
        "event": event,
        "bytes": uploaded.bytes,
        "seconds": uploaded.seconds,
        "goodput_mbps": moved(uploaded).goodput().bits_per_sec() / 1e6,
        "resumed_from": uploaded.resumed_from,
        "digest": format!("blake3={}", uploaded.digest.to_hex()),
        "verified": true,
        "url": url.short(),
    })
}

/// How to upload what is no plain file. The name that a shell gives to `<(COMMAND)` is gone with this command.
fn piped(path: &Path) -> String {
    let descriptors = ["/dev/fd", "/proc/self/fd"];
    if descriptors.iter().any(|dir| path.starts_with(dir)) {
        return "COMMAND | pcc put - URL".to_owned();
    }
    format!("pcc put - URL < {}", path.display())
}
