//! Which traces a directory keeps.
//!
//! Strangers decide how many connections a server has, and a service manager how often it starts. So a directory keeps the latest
//! traces of servers, of all runs: the oldest makes room for a new one, as rotated logs do. A client's connections are its user's,
//! whose traces nobody deletes.

use super::MOST_FILES;
use super::file::{TraceFile, Writing};
use super::header::name;
use noq_proto::{ConnectionId, Side};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The traces in a directory.
#[derive(Debug)]
pub(super) struct Kept {
    directory: PathBuf,
    /// Made by clients of this run.
    clients: u32,
    /// Of servers, the oldest first; `None` before there was a look at the directory.
    servers: Option<VecDeque<Served>>,
    /// That there is no room.
    told: bool,
}

/// A server's trace.
#[derive(Debug)]
struct Served {
    path: PathBuf,
    writing: Writing,
}

impl Kept {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, clients: 0, servers: None, told: false }
    }

    /// The file of a new connection; `None`, which is told, if there is no room for it, or it cannot be made.
    pub(super) fn file(&mut self, side: Side, id: ConnectionId, started: Instant) -> Option<TraceFile> {
        let room = match side {
            Side::Client => Ok(self.clients < MOST_FILES),
            Side::Server => self.servers_room(),
        };
        let began = SystemTime::now();
        let since = began.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let path = self.directory.join(format!("{since}-{id}-{}.sqlog", name(side)));
        let made = match room {
            Ok(true) => TraceFile::create(&path, side, id, (started, began)).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        match made {
            Ok(Some(file)) => {
                self.note(side, path, &file);
                Some(file)
            }
            Ok(None) => {
                if !core::mem::replace(&mut self.told, true) {
                    tracing::warn!("{MOST_FILES} qlog files are there: further connections leave none");
                }
                None
            }
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "no qlog file");
                None
            }
        }
    }

    fn note(&mut self, side: Side, path: PathBuf, file: &TraceFile) {
        self.told = false;
        match side {
            Side::Client => self.clients += 1,
            Side::Server => {
                self.servers.get_or_insert_default().push_back(Served { path, writing: file.writing() });
            }
        }
    }

    /// Removes the oldest traces that nobody writes, until there is room for one more.
    fn servers_room(&mut self) -> io::Result<bool> {
        let servers = match &mut self.servers {
            Some(servers) => servers,
            none => none.insert(of_servers(&self.directory)?),
        };
        while servers.len() >= MOST_FILES as usize {
            let Some(oldest) = servers.iter().position(|served| !served.writing.goes_on()) else { return Ok(false) };
            match std::fs::remove_file(&servers[oldest].path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => servers.remove(oldest),
            };
        }
        Ok(true)
    }
}

/// Traces of servers before this run, the oldest first.
fn of_servers(directory: &Path) -> io::Result<VecDeque<Served>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if let Some(began) = path.file_name().and_then(|name| began(name.to_str()?)) {
            found.push((began, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| Served { path, writing: Writing::default() }).collect())
}

/// When the connection of a server's trace began, in ms since 1970; `None` for a file that is none of ours.
fn began(name: &str) -> Option<u128> {
    let (time, id) = name.strip_suffix("-server.sqlog")?.split_once('-')?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    time.parse().ok().filter(|_| is_id && time.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> ConnectionId {
        ConnectionId::new(&number.to_be_bytes())
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_oldest_traces_of_servers_go_over_all_runs() {
        let dir = tempfile::tempdir().unwrap();
        let others = ["5-00-client.sqlog", "a-00-server.sqlog", "6-0x-server.sqlog", "notes"];
        let before: Vec<_> = (1..=MOST_FILES + 5).map(|time| format!("{time}-00-server.sqlog")).collect();
        for name in others.iter().copied().chain(before.iter().map(String::as_str)) {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let mut kept = Kept::new(dir.path().to_owned());
        assert!(kept.file(Side::Server, id(1), Instant::now()).is_some());
        let left = names(dir.path());
        assert_eq!(left.len(), MOST_FILES as usize + others.len());
        assert!(
            before[..6].iter().all(|name| !left.contains(name)) && before[6..].iter().all(|name| left.contains(name))
        );
        assert!(others.iter().all(|name| left.contains(&(*name).to_owned())), "{left:?}");
    }

    #[test]
    fn short_connections_do_not_blind_a_server() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Kept::new(dir.path().to_owned());
        let long = kept.file(Side::Server, id(0), Instant::now()).unwrap();
        for number in 1..=3 * MOST_FILES {
            assert!(kept.file(Side::Server, id(number), Instant::now()).is_some(), "{number}");
        }
        let left = names(dir.path());
        assert_eq!(left.len(), MOST_FILES as usize);
        assert!(left.iter().any(|name| name.contains("-00000000-")), "the one that is written stays");
        drop(long);
        assert!(kept.file(Side::Server, id(1 << 20), Instant::now()).is_some());
        assert!(names(dir.path()).iter().all(|name| !name.contains("-00000000-")), "it is the oldest now");
    }

    #[test]
    fn no_trace_begins_while_as_many_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Kept::new(dir.path().to_owned());
        let mut open: Vec<_> =
            (0..MOST_FILES).map(|number| kept.file(Side::Server, id(number), Instant::now()).unwrap()).collect();
        assert!(kept.file(Side::Server, id(MOST_FILES), Instant::now()).is_none());
        open.pop();
        assert!(kept.file(Side::Server, id(MOST_FILES), Instant::now()).is_some());
        assert_eq!(names(dir.path()).len(), MOST_FILES as usize);
    }

    #[test]
    fn a_client_s_traces_are_never_removed() {
        let dir = tempfile::tempdir().unwrap();
        for run in 0..2 {
            let mut kept = Kept::new(dir.path().to_owned());
            for number in 0..MOST_FILES {
                assert!(kept.file(Side::Client, id(run * MOST_FILES + number), Instant::now()).is_some());
            }
            assert!(kept.file(Side::Client, id(u32::MAX), Instant::now()).is_none());
        }
        assert_eq!(names(dir.path()).len(), 2 * MOST_FILES as usize);
    }
}
