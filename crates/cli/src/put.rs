//! `pcc put`: uploads that survive a bad network.

use crate::choice::ChoiceArgs;
use crate::destination::Taken;
use crate::display::Display;
use crate::errand;
use crate::exit::misuse;
use crate::passed::Passed;
use crate::remote::{self, RemoteArgs, Word, WrittenPlace, WrittenWord};
use crate::session::{Reach, SessionArgs, each};
use crate::telling::Telling;
use crate::token::TokenArgs;
use anyhow::Context;
use pcc_files::put::{self, below, name_of};
use pcc_files::{Choice, Error, Names, Source, Step};
use pcc_net::escape_for_terminal;
use pcc_net::url::Url;
use pcc_remote::{Reached, Remote, Wish};
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
  pcc put big.iso 'https://host:4433/#sha256=…' --via wlan0 --via wwan0
      over two networks at once
  tar c . | pcc put - 'https://host:4433/backup.tar#sha256=…'
      as it comes
  pcc put big.iso me@host:isos/
      to a computer that ssh reaches, and that has pcc; it needs no token
  pcc put -a --delete site me@host:
      make ./site there what it is here: times and permissions, too
  pcc put me@host:site you@other:
      from one computer that ssh reaches to another one, and not through this one
  pcc put site me@host: -n --exclude '*.tmp' --exclude /cache/
      which files would be sent

Exit codes: 0 done, 1 error, 2 misused, 3 some entries of a directory missing,
4 data damaged, 5 server unreachable, 25 --max-delete was met, 130 interrupted";

/// Upload a file, a directory or standard input
///
/// The server keeps the part of an interrupted upload that it has. The same command goes on from there, and skips files
/// that the server has already. A file gets its name when all of it has arrived and its BLAKE3 is right. -a keeps times,
/// permissions, owners and links.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    // First: the other fields take what they read of the command line away.
    #[command(flatten)]
    pub(crate) passed: Passed,

    /// What to upload: a file, a directory, - for standard input, or user@host:path
    ///
    /// Several go one after the other into a directory there. A slash at the end means nothing: the slash of the destination decides.
    ///
    /// Files at user@host:path go from that computer to the destination, and not through this one. ssh starts `pcc` on both.
    /// `./a:b` is a file here.
    #[arg(value_name = "SOURCE", value_parser = WrittenWord, value_hint = clap::ValueHint::AnyPath, required = true)]
    sources: Vec<Word>,

    /// Destination, a URL or user@host:path; one that ends in `/` is a directory, and the source keeps its name in it
    ///
    /// For user@host:path, ssh starts `pcc` on that computer for this transfer, as scp and rsync do. Without the slash the source
    /// becomes what has that name, a directory with everything in it, too; it does not matter whether that is there already.
    #[arg(value_name = "URL|HOST:PATH", value_parser = WrittenPlace)]
    pub(crate) to: remote::Place,

    #[command(flatten)]
    token: TokenArgs,

    /// At the end delete what is in the destination directory and not in the source
    ///
    /// Only in the directory that SOURCE becomes there, and only if the server runs with --allow-delete, as one that ssh starts does.
    /// Excluded files stay. A file in the way of a directory is replaced, and a directory in the way of a file. Nothing is
    /// deleted unless all else of the source could be read and sent. Try it with --dry-run.
    #[arg(long, aliases = ["del", "delete-before", "delete-during", "delete-delay", "delete-after"], help_heading = "What is moved")]
    delete: bool,

    /// The same as --owner
    #[arg(short = 'o', hide = true)]
    letter_of_owner: bool,

    #[command(flatten)]
    choice: ChoiceArgs,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// The server of an upload.
pub(crate) struct Server {
    pub(crate) url: Url,
    pub(crate) token: String,
    pub(crate) reach: Reach,
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let args = args.checked()?;
    if let remote::Place::Url(url) = &args.to {
        suits_several(url, args.sources.len())?;
    }
    if args.sources.len() > 1 {
        Taken::of(args.sources.iter().filter_map(named))?;
        no_name_twice(&args.sources)?;
    }
    // Before a file is read that an option names.
    if let Some(Word::Place(from)) = args.sources.iter().find(|source| matches!(source, Word::Place(_))) {
        args.passed.words(&from.written())?;
    }
    let choice = args.choice.choice(args.delete)?;
    each(&args.sources, &args.session, async |source, display| send(&args, source, &choice, display).await).await
}

/// Uploads these, as another computer asked for it.
pub(crate) async fn run_for_another(args: Args, sources: &[PathBuf], to: &Server) -> anyhow::Result<()> {
    let args = args.checked()?;
    suits_several(&to.url, sources.len())?;
    let choice = args.choice.choice(args.delete)?;
    each(sources, &args.session, async |path, display| upload(&args, path, to, &choice, display).await).await
}

/// Errors: several would become one.
fn suits_several(url: &Url, sources: usize) -> anyhow::Result<()> {
    if sources < 2 || url.encoded_path().ends_with('/') {
        return Ok(());
    }
    Err(match &url.alias {
        Some(alias) => misuse!("{sources} uploads need a directory: write {}/", escape_for_terminal(&alias.written)),
        None => misuse!("several uploads need a directory: end the URL's path with `/`, in front of any #"),
    })
}

/// Errors: what only another computer names may have the name of another source.
fn no_name_twice(sources: &[Word]) -> anyhow::Result<()> {
    let mut unnamed = sources.iter().filter_map(|source| match source {
        Word::Place(place @ remote::Place::Remote(remote)) if place.name().is_none() => Some(remote),
        _ => None,
    });
    let Some(first) = unnamed.next() else { return Ok(()) };
    let names = first.pattern().and_then(|pattern| Names::new(pattern).ok());
    let is_taken = |name: &str| names.as_ref().is_some_and(|names| names.has(name));
    if unnamed.next().is_none() && !sources.iter().filter_map(named).any(|(name, _)| is_taken(&name)) {
        return Ok(());
    }
    let (host, path) = (first.address(), &first.path);
    Err(misuse!("{host}{path} may bring a name that another source has, too: move them into different places"))
}

/// The name of a source's copy, and the source.
fn named(source: &Word) -> Option<(String, String)> {
    match source {
        Word::Local(path) if path == "-" => None,
        Word::Local(path) => Some((name_of(path).ok()?, path.display().to_string())),
        Word::Place(place) => Some((place.name()?, place.written())),
    }
}

impl Args {
    /// The same, with what other tools' letters mean.
    ///
    /// Errors: an option was asked for that other tools have.
    fn checked(self) -> anyhow::Result<Self> {
        let args = Self { session: self.session.keeping_owners(self.letter_of_owner), ..self };
        args.session.check().map(|()| args)
    }

    /// For uploads to a URL.
    pub(crate) fn token(&self) -> anyhow::Result<String> {
        self.token.token("an upload needs the server's token: set PCC_TOKEN or name a file with --token-file")
    }

    /// Has ssh start a server for the uploads to this place.
    pub(crate) async fn reach(&self, place: &Remote) -> anyhow::Result<Reached> {
        // Several go into a directory, also where there is none yet.
        let needs_slash = self.sources.len() > 1 && !place.is_directory();
        let path = place.path.clone() + if needs_slash { "/" } else { "" };
        let place = &Remote { path: path.clone(), ..place.clone() };
        let wish = if self.choice.dry_run { Wish::Look(path) } else { Wish::Put(path) };
        self.remote.reach(place, wish, self.session.patience()).await
    }
}

/// A code is no destination.
pub(crate) fn no_code() -> anyhow::Error {
    misuse!("a code is for `pcc get`: `pcc send` here prints one for the other computer")
}

/// Uploads it, to a server that ssh starts first if need be.
async fn send(args: &Args, source: &Word, choice: &Choice, display: &Arc<Display>) -> anyhow::Result<()> {
    let reach = args.remote.over(&args.to);
    args.session.suits(&args.to, reach)?;
    let path = match source {
        Word::Local(path) => path,
        Word::Place(remote::Place::Remote(from)) => return errand::send(args, from, display).await,
        Word::Place(place) => {
            return Err(misuse!("{} is on another computer: it comes with `pcc get`", place.written()));
        }
    };
    match &args.to {
        remote::Place::Url(url) => {
            let server = Server { url: url.clone(), token: args.token()?, reach };
            upload(args, path, &server, choice, display).await
        }
        remote::Place::Code(_) => Err(no_code()),
        remote::Place::Remote(place) => {
            // A source that is not there needs no connection.
            if path != Path::new("-") {
                looked_at(path)?;
            }
            let mut reached = args.reach(place).await?;
            let token = reached.token.take().unwrap_or_default();
            let server = Server { url: reached.url.clone(), token, reach };
            let outcome = upload(args, path, &server, choice, display).await;
            remote::end(reached, outcome).await
        }
    }
}

async fn upload(args: &Args, path: &Path, to: &Server, choice: &Choice, display: &Arc<Display>) -> anyhow::Result<()> {
    let plan = Plan::of(path, &to.url)?;
    plan.suits(args)?;
    let work = async |source: &Source| plan.carry_out(source, &to.token, choice, display).await;
    args.session.carry_out(&to.url, to.reach, display, work).await
}

fn looked_at(path: &Path) -> anyhow::Result<std::fs::Metadata> {
    std::fs::metadata(path).with_context(|| format!("could not read {}", path.display()))
}

/// The sources, and where they go.
enum Plan {
    Stdin(Url),
    File(PathBuf, Url),
    Directory(PathBuf, Url),
}

impl Plan {
    fn of(path: &Path, url: &Url) -> anyhow::Result<Self> {
        if let Some(query) = url.path.query() {
            let (peer, path) = (&url.peer, url.encoded_path());
            return Err(misuse!(
                "{} has a query, `?{query}`, and uploads have none: leave it out, or write the name's `?` as %3F, like \
                 https://{peer}{path}%3F{query}",
                url.short()
            ));
        }
        let into_directory = url.encoded_path().ends_with('/');
        if path == Path::new("-") {
            if into_directory {
                let url = url.short();
                return Err(misuse!("standard input has no name: give one, like {url}NAME"));
            }
            if put::stdin_is_closed() {
                let why = "standard input is closed, so there is nothing to upload: use `pcc put - URL < FILE`";
                return Err(misuse!(why));
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
            Err(misuse!("{} is no plain file: use `{}`", path.display(), piped(path)))
        }
    }

    /// Errors: what is chosen of it cannot be.
    fn suits(&self, args: &Args) -> anyhow::Result<()> {
        match self {
            Self::Directory(..) => Ok(()),
            Self::File(path, _) => args.choice.needs_directory(&path.display().to_string()),
            Self::Stdin(_) => args.choice.needs_directory("standard input").and_then(|()| args.choice.needs_file()),
        }
    }

    async fn carry_out(&self, source: &Source, token: &str, choice: &Choice, display: &Display) -> anyhow::Result<()> {
        let telling = Telling { display, verb: "put", key: "url", dry_run: choice.dry_run };
        let (moved, url) = match self {
            Self::Directory(dir, url) => {
                let each = |step: Step<'_, Url>| telling.step(step, |to| to.short().into());
                let tally = put::directory(source, dir, url, token, choice, &each).await.map_err(Error::into_anyhow)?;
                return telling.tree(&url.short(), &tally, " there, as told above");
            }
            Self::File(path, url) => {
                let found = put::chosen(source, path, url, token, choice).await.map_err(Error::into_anyhow)?;
                telling.one(Some(&url.short()), &found);
                return Ok(());
            }
            Self::Stdin(_) if choice.dry_run => {
                return Err(misuse!("standard input can be read only once, so there is no dry run of it"));
            }
            Self::Stdin(url) => (put::stdin(source, url, token).await, url),
        };
        telling.file(Some(&url.short()), &moved.map_err(Error::into_anyhow)?);
        Ok(())
    }
}

/// How to upload what is no plain file. The name that a shell gives to `<(COMMAND)` is gone with this command.
fn piped(path: &Path) -> String {
    let descriptors = ["/dev/fd", "/proc/self/fd"];
    if descriptors.iter().any(|dir| path.starts_with(dir)) {
        return "COMMAND | pcc put - URL".to_owned();
    }
    format!("pcc put - URL < {}", path.display())
}
