//! `pcc get`: downloads that survive a bad network.

use crate::choice::ChoiceArgs;
use crate::destination::{Asked, Destination, LocalPlace, Taken};
use crate::display::Display;
use crate::exit::misuse;
use crate::remote::{self, RemoteArgs, Word, WrittenWord};
use crate::send;
use crate::session::{Reach, SessionArgs, each};
use crate::telling::Telling;
use pcc_files::get::{self, Target};
use pcc_files::{Choice, Error, Names, Source, Step, Watch as _};
use pcc_net::url::Url;
use pcc_reach::{Code, Fetch, Part, Route};
use pcc_remote::{Remote, Wish};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples, with the address that `pcc serve` prints:
  pcc get 'https://host:4433/big.iso#sha256=…'
      into ./big.iso; run it again to go on after an interruption
  pcc get 'https://host:4433/big.iso#sha256=…' /tmp/
      into /tmp/big.iso; -o /tmp/ is the same
  pcc get 'https://host:4433/logs/#sha256=…'
      a whole directory, into ./logs
  pcc get 'https://host:4433/#sha256=…' -o all
      all that the server has, into ./all; without -o into ./host
  pcc get 'https://host:4433/backup.tar#sha256=…' -o - | tar x
      as it comes
  pcc get 'https://host:4433/a#sha256=…' 'https://host:4433/b#sha256=…' dir/
      one after the other, into ./dir
  pcc get 'https://host:4433/big.iso#sha256=…' --via wlan0 --via wwan0
      over two networks at once
  pcc get https://example.org/big.iso
      from any HTTP/3 server, at port 443
  pcc get kmfm-eb2v-fbhr-85jy
      what `pcc send` offers on a computer that nothing reaches; it prints the code
  pcc get me@host:big.iso
      from a computer that ssh reaches, and that has pcc; nothing else runs there
  pcc get me@host:photos/ pictures
      what is in photos there, into ./pictures
  pcc get 'me@host:logs/*.gz' /tmp/
      what the pattern matches there, into /tmp
  pcc get me@host:site -n --delete --exclude '*.tmp'
      what would change here if ./site became as it is there

Exit codes: 0 done, 1 error, 2 misused, 3 some entries of a directory missing,
4 data damaged, 5 server unreachable, 25 --max-delete was met, 130 interrupted";

/// Arguments of `pcc get`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to download, a file or a directory: a URL as `pcc serve` prints it, user@host:path, or a code as `pcc send` prints it; last
    /// may be a destination
    ///
    /// Any HTTP/3 server will do. The part from # on names the server's certificate; without it the certificate must
    /// come from an authority that this computer trusts. Mind the quotes: # and ? mean something to shells.
    /// Several are downloaded one after the other.
    ///
    /// For user@host:path, ssh starts `pcc` on that computer for this transfer, as scp and rsync do. The data goes over UDP
    /// beside ssh's connection. `./a:b` is no such place.
    ///
    /// A code stands for all that its sender offers, and is used when all has arrived. Each goes under the sender's name for it, and
    /// replaces nothing unless -o names it.
    ///
    /// A last word that is a path of this computer is the destination, as with scp and rsync, and as -o says it.
    #[arg(value_name = "URL|HOST:PATH|CODE", value_parser = WrittenWord, required = true)]
    words: Vec<Word>,

    /// Destination: a file, a directory, or - for standard output [default: the name in the URL]
    ///
    /// Into `DIR/` and `.` each goes under its own name, into DIR/NAME, and DIR is made if need be. What is in a directory goes
    /// into DIR itself if its URL or path ends with `/`. Several go into DIR under their own names. Without -o, all that a server has
    /// goes into a directory of the server's name. An existing file is replaced once the new one is complete; until then the data is in
    /// `.NAME.pcc-part` next to it.
    #[arg(short, long, value_name = "FILE|DIR|-")]
    output: Option<PathBuf>,

    /// At the end delete what is in the destination directory and not at the server
    ///
    /// Excluded files stay. A file in the way of a directory is replaced, and a directory in the way of a file. Nothing is
    /// deleted unless all else could be listed and fetched. The server's list decides, so try it with --dry-run.
    #[arg(long, aliases = ["del", "delete-before", "delete-during", "delete-delay", "delete-after"], help_heading = "What is moved")]
    delete: bool,

    #[command(flatten)]
    choice: ChoiceArgs,

    // A download is sent by the server, whose options decide about its speed: these are for requests and acknowledgements,
    // but `--limit` is also how fast the download is taken.
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    args.session.check()?;
    if let Some(output) = args.output.as_ref().and_then(|output| output.to_str())
        && (output.contains("://") || Remote::parse(output).is_ok())
    {
        return Err(misuse!(
            "-o {output}: -o names the destination, and rsync's -o is --owner; ./{output} is a file of this name"
        ));
    }
    let (from, output) = remote::sources_and_destination(&args.words, args.output.as_deref())?;
    let destination = Destination::of(output, from.len() > 1)?;
    if destination == Destination::Stdout && args.session.json {
        return Err(misuse!("`--json` and `-o -` both want standard output: leave out one"));
    }
    let choice = args.choice.choice(args.delete)?;
    let taken = Taken::of(from.iter().filter_map(|from| Some((from.name()?, from.written()))))?;
    let download = Download { args: &args, destination, choice, taken, is_one: from.len() == 1 };
    each(&from, &args.session, async |from, display| download.fetch(from, display).await).await
}

/// What all sources of a command have in common.
struct Download<'a> {
    args: &'a Args,
    destination: Destination,
    choice: Choice,
    taken: Taken,
    is_one: bool,
}

impl Download<'_> {
    /// Downloads it, from a server that ssh starts first if need be.
    async fn fetch(&self, from: &remote::Place, display: &Arc<Display>) -> anyhow::Result<()> {
        let (written, one_of_several, over) = (from.written(), !self.is_one, self.args.remote.over(from));
        self.args.session.suits(from, over)?;
        match from {
            remote::Place::Url(url) => {
                let asked = Asked { written, url, is_content: get::is_directory(url), one_of_several };
                self.download(&asked, over, self.choice.clone(), display).await
            }
            remote::Place::Remote(place) => {
                let (remote, patience) = (&self.args.remote, self.args.session.patience());
                let reached = remote.reach(place, Wish::Get(place.path.clone()), patience).await?;
                let asked = Asked { written, url: &reached.url, is_content: place.is_directory(), one_of_several };
                let outcome = match self.choice_of(reached.pattern.as_deref()) {
                    Ok(choice) => self.download(&asked, over, choice, display).await,
                    Err(error) => Err(error),
                };
                remote::end(reached, outcome).await
            }
            remote::Place::Code(code) => self.fetch_by_code(code, &written, display).await,
        }
    }

    /// Downloads all that a code is for, and tells its sender when that is done.
    async fn fetch_by_code(&self, code: &Code, written: &str, display: &Arc<Display>) -> anyhow::Result<()> {
        let shown = display.clone();
        let tell = Arc::new(move |route: &Route| shown.note(&route.to_string()));
        let fetch = Fetch::open(code.clone(), &send::algorithm(None), tell).await.map_err(send::explained)?;
        let outcome = async {
            let parts = fetch.parts();
            let of_code = Download {
                destination: if parts.len() > 1 { self.destination.of_several()? } else { self.destination.clone() },
                choice: self.choice.clone(),
                taken: Taken::default(),
                is_one: self.is_one && parts.len() == 1,
                ..*self
            };
            for part in parts {
                of_code.fetch_part(part, written, display).await?;
            }
            if self.choice.dry_run { Ok(()) } else { fetch.finish().await.map_err(send::explained) }
        };
        let outcome = outcome.await;
        fetch.close().await;
        outcome
    }

    /// Downloads one of the things that a code is for.
    async fn fetch_part(&self, part: Part, written: &str, display: &Arc<Display>) -> anyhow::Result<()> {
        let (url, peer) = (&part.url().map_err(send::explained)?, part.peer());
        let is_content = get::is_directory(url);
        let asked = Asked { written: written.to_owned(), url, is_content, one_of_several: !self.is_one };
        let to = &self.destination;
        let place = if is_content { to.of_directory(&asked)? } else { to.of_file(&asked)? };
        let work = async |source: &Source| {
            self.fill(&place, source, url, &self.choice, display).await.map_err(Error::into_anyhow)?
        };
        self.args.session.carry_out_over(Arc::new(part), peer, display, work).await
    }

    /// With a pattern only what it matches is brought, and nothing under a name that another source has.
    fn choice_of(&self, pattern: Option<&str>) -> anyhow::Result<Choice> {
        let Some(pattern) = pattern else { return Ok(self.choice.clone()) };
        let only = Some(Names::new(pattern).map_err(Error::into_anyhow)?);
        Ok(Choice { only, taken: self.taken.names(), ..self.choice.clone() })
    }

    async fn download(
        &self,
        asked: &Asked<'_>,
        over: Reach,
        choice: Choice,
        display: &Arc<Display>,
    ) -> anyhow::Result<()> {
        let (url, to) = (asked.url, &self.destination);
        let place = if choice.only.is_some() {
            to.of_matches(asked)?
        } else if get::is_directory(url) {
            to.of_directory(asked)?
        } else {
            to.of_file(asked)?
        };
        let work = async |source: &Source| {
            let outcome = self.fill(&place, source, url, &choice, display).await;
            let outcome = match outcome.as_ref().err().and_then(|error| get::slashed(url, error)) {
                Some(directory) => self.fill(&to.of_directory(asked)?, source, &directory, &choice, display).await,
                None => outcome,
            };
            outcome.map_err(Error::into_anyhow)?
        };
        self.args.session.carry_out(url, over, display, work).await
    }

    async fn fill(
        &self,
        place: &LocalPlace,
        source: &Source,
        url: &Url,
        choice: &Choice,
        display: &Display,
    ) -> Result<anyhow::Result<()>, Error> {
        let telling = Telling { display, verb: "get", key: "file", dry_run: choice.dry_run };
        if !choice.dry_run && !matches!(place, LocalPlace::Occupied(_)) {
            self.destination.make()?;
        }
        match place {
            LocalPlace::File(target) => {
                let place = if let Target::File(path) = target { Some(path.to_string_lossy()) } else { None };
                if let Err(misused) = self.args.choice.needs_directory(&url.short()) {
                    return Ok(Err(misused));
                }
                telling.one(place.as_deref(), &get::chosen(source, url, target, choice).await?);
                Ok(Ok(()))
            }
            LocalPlace::Occupied(path) => {
                // A server that has a directory there says so.
                get::look(source, url, &Target::Stdout).await?;
                Ok(Err(misuse!("{} is a directory: choose another name with -o FILE", path.display())))
            }
            LocalPlace::Directory(dir) => {
                let each = |step: Step<'_, Path>| {
                    if let Step::Complete(path, _) | Step::Due(path, _) = step
                        && choice.only.is_some()
                        && let Some(name) = top_name(path, dir)
                    {
                        self.taken.add(name);
                    }
                    telling.step(step, Path::to_string_lossy);
                };
                let tally = get::directory(source, url, dir, choice, &each).await?;
                let rest = format!(", as told above; the rest is in {}", dir.display());
                Ok(telling.tree(&dir.to_string_lossy(), &tally, &rest))
            }
        }
    }
}

/// The first name of a path below `dir`.
fn top_name<'a>(path: &'a Path, dir: &Path) -> Option<&'a str> {
    path.strip_prefix(dir).ok()?.components().next()?.as_os_str().to_str()
}
