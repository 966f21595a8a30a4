//! `pcc get`: downloads that survive a bad network.

use crate::choice::ChoiceArgs;
use crate::display::Display;
use crate::exit::misuse;
use crate::remote::{self, RemoteArgs, WrittenPlace};
use crate::session::{SessionArgs, each};
use crate::telling::Telling;
use anyhow::Context;

use pcc_files::get::{self, Target};
use pcc_files::{Choice, Error, Names, Source, Step, link};
use pcc_net::url::Url;
use pcc_remote::Wish;
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
4 data damaged, 5 server unreachable, 25 --max-delete was met, 130 interrupted";

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
    /// Excluded files stay. A file in the way of a directory is replaced, and a directory in the way of a file. Nothing is
    /// deleted unless all else could be listed and fetched. The server's list decides, so try it with --dry-run.
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
        return Err(misuse!("-o {}: several downloads need a directory that exists", output.display()));
    }
    let choice = args.choice.choice(args.delete)?;
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
        let stdout = args.output.as_deref() == Some(Path::new("-"));
        if stdout && args.session.json {
            return Err(misuse!("`--json` and `-o -` both want standard output: leave out one"));
        }
        if get::is_directory(url) {
            return match &args.output {
                Some(_) if stdout => Err(misuse!("{} is a directory: give one with -o DIR", url.short())),
                Some(dir) if dir.exists() && !dir.is_dir() => {
                    Err(misuse!("{} is a file, and {} a directory: give one with -o DIR", dir.display(), url.short()))
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
                return Err(misuse!("there is no directory {}: make it first", path.display()));
            }
            Some(path) => path.clone(),
            None => name_of(url)?.into(),
        };
        match std::fs::metadata(&named) {
            Ok(found) if found.is_dir() => {
                Err(misuse!("{} is a directory: choose another name with -o FILE", named.display()))
            }
            Ok(found) if !found.is_file() => Err(misuse!("{} is no plain file: use `-o - > {0}`", named.display())),
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
        let telling = Telling { display, verb: "get", key: "file", dry_run: choice.dry_run };
        match self {
            Self::File(target) => {
                let place = if let Target::File(path) = target { Some(path.to_string_lossy()) } else { None };
                if choice.dry_run {
                    telling.found(place.as_deref(), &get::look(source, url, target).await?);
                } else {
                    telling.file(place.as_deref(), &get::file(source, url, target).await?);
                }
                Ok(Ok(()))
            }
            Self::Directory(dir) => {
                let each = |step: Step<'_, Path>| telling.step(step, Path::to_string_lossy);
                let tally = get::directory(source, url, dir, choice, &each).await?;
                let rest = format!(", as told above; the rest is in {}", dir.display());
                Ok(telling.tree(&dir.to_string_lossy(), &tally, &rest))
            }
        }
    }
}

/// What to call it where nobody says.
fn name_of(url: &Url) -> anyhow::Result<String> {
    get::name_of(url).map_err(|error| misuse!("{error} with -o"))
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|last| std::path::is_separator(char::from(*last)))
}
