//! Downloads are kept, taken up again, and given their name.

use super::super::journal::BLOCK;
use super::left::Checked;
use super::*;
use crate::blocking::{Wanted, ends_when_nobody_waits, while_wanted};
use crate::client::request::Version;

const SIZE: usize = 9 << 20;

fn data() -> Vec<u8> {
    (0..SIZE).map(|place| (place * 31 / 7) as u8).collect()
}

fn header() -> Header {
    let version = Version { etag: Some("\"1\"".to_owned()), size: Some(SIZE as u64), ..Version::default() };
    Header::of(&"https://h/a".parse().unwrap(), &version).unwrap()
}

fn store(target: &Target, bytes: &[u8]) -> Store {
    let mut store = Store::new(target, Some(header()), Attributes::default()).unwrap();
    bytes.chunks(100_001).for_each(|chunk| store.write(chunk).unwrap());
    store
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("file")
    }

    fn target(&self) -> Target {
        Target::File(self.path())
    }

    fn check(&self) -> Checked {
        let left = left(&self.target()).unwrap().expect("a partial file");
        let mut checked = None;
        Wanted::always(|wanted| checked = left.check(&self.path(), wanted).unwrap());
        checked.expect("a journal")
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        self.dir.path().read_dir().unwrap().map(name).collect()
    }
}

#[test]
fn second_download_into_same_file_is_refused_and_harms_nothing() {
    let place = Place::new();
    let first = store(&place.target(), &data());
    let error = Store::new(&place.target(), Some(header()), Attributes::default()).err().unwrap().to_string();
    assert!(error.contains("another pcc is downloading"), "{error}");
    assert_eq!(first.digest(), blake3::hash(&data()));
    first.publish(Attributes::default(), None).unwrap();
    assert_eq!(std::fs::read(place.path()).unwrap(), data());
}

#[test]
fn what_was_killed_goes_on_from_the_last_mark() {
    let place = Place::new();
    drop(store(&place.target(), &data()[..SIZE - 500])); // as kill -9 would: nothing is said at the end
    let mut checked = place.check();
    assert_eq!((checked.store.at(), checked.damaged_at), (2 * BLOCK, None));
    checked.store.write(&data()[2 * BLOCK as usize..]).unwrap();
    assert_eq!(checked.store.digest(), blake3::hash(&data()));
    checked.store.publish(Attributes::default(), None).unwrap();
    assert_eq!(std::fs::read(place.path()).unwrap(), data());
    assert_eq!(place.names(), ["file"]);
}

#[test]
fn a_run_that_ends_in_order_keeps_every_byte() {
    let place = Place::new();
    let (sender, receiver) = mpsc::channel(1);
    let (give_back, _done) = mpsc::channel(1);
    drop(sender);
    store(&place.target(), &data()[..5_000_000]).drain(receiver, give_back).unwrap();
    let mut checked = place.check();
    assert_eq!(checked.store.at(), 5_000_000);
    checked.store.write(&data()[5_000_000..]).unwrap();
    assert_eq!(checked.store.digest(), blake3::hash(&data()));
}

#[test]
fn a_flipped_byte_is_found_and_its_block_starts_anew() {
    let place = Place::new();
    drop(store(&place.target(), &data()));
    let (part, _) = names::part_and_journal(&place.path());
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[BLOCK as usize + 7] ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    let mut checked = place.check();
    assert_eq!((checked.store.at(), checked.damaged_at), (BLOCK, Some(BLOCK)));
    checked.store.write(&data()[BLOCK as usize..]).unwrap();
    assert_eq!(checked.store.digest(), blake3::hash(&data()));
}

#[test]
fn a_file_that_lost_its_end_goes_on_from_what_is_left() {
    let place = Place::new();
    drop(store(&place.target(), &data()));
    let (part, _) = names::part_and_journal(&place.path());
    File::options().write(true).open(&part).unwrap().set_len(BLOCK + 5).unwrap();
    let checked = place.check();
    assert_eq!((checked.store.at(), checked.damaged_at), (BLOCK, Some(BLOCK)));
    assert_eq!(std::fs::metadata(&part).unwrap().len(), BLOCK);
}

#[test]
fn a_journal_without_its_file_is_nothing() {
    let place = Place::new();
    drop(store(&place.target(), &data()));
    std::fs::remove_file(names::part_and_journal(&place.path()).0).unwrap();
    assert!(left(&place.target()).unwrap().is_none());
}

#[test]
fn what_nobody_can_resume_is_not_left_behind() {
    let place = Place::new();
    let mut store = Store::new(&place.target(), None, Attributes::default()).unwrap();
    store.write(&data()).unwrap();
    drop(store);
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn what_has_no_mark_is_not_left_behind() {
    let place = Place::new();
    let store = store(&place.target(), &data()[..1000]);
    assert_eq!(place.names().len(), 2, "a large file has a journal before its first byte");
    drop(store);
    assert_eq!(place.names(), Vec::<String>::new(), "a later run would begin anew");
}

#[test]
fn a_disk_that_fails_leaves_only_what_can_be_resumed() {
    for (header, left) in [(None, 0), (Some(header()), 2)] {
        let place = Place::new();
        let mut store = Store::new(&place.target(), header, Attributes::default()).unwrap();
        store.write(&data()[..5_000_000]).unwrap();
        let Out::Part(part) = &mut store.out else { unreachable!("it goes to a file") };
        part.file = File::open(&part.path).unwrap(); // takes no more, like a full disk
        let (batches, receiver) = mpsc::channel(1);
        batches.try_send(vec![1]).unwrap();
        let error = store.drain(receiver, mpsc::channel(1).0).err().unwrap().to_string();
        assert!(error.contains("make room"), "{error}");
        assert_eq!(place.names().len(), left, "{:?}", place.names());
    }
}

/// Begins and ends downloads of one name as fast as it can, each with bytes of its own.
fn rival(target: &Target, number: u8) {
    for _ in 0..200 {
        let Ok(mut store) = Store::new(target, Some(header()), Attributes::default()) else { continue };
        for _ in 0..4 {
            store.write(&[number; 1000]).unwrap();
        }
        store.publish(Attributes::default(), None).unwrap();
    }
}

#[test]
fn of_rivals_for_one_name_each_publishes_a_whole_file() {
    let place = Place::new();
    let target = place.target();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let target = &target;
            scope.spawn(move || rival(target, number));
        }
        for _ in 0..2000 {
            if let Ok(found) = std::fs::read(place.path()) {
                assert!(found.len() == 4000 && found.iter().all(|byte| *byte == found[0]), "{} bytes", found.len());
            }
        }
    });
    assert_eq!(place.names(), ["file"]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_journal_of_ours_is_none_and_holds_nobody() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let place = Place::new();
    drop(store(&place.target(), &data()));
    let (part, journal) = names::part_and_journal(&place.path());
    std::fs::hard_link(&journal, place.dir.path().join("another name")).unwrap();
    assert!(left(&place.target()).unwrap().unwrap().header().is_none(), "somebody else has it, too");
    std::fs::remove_file(&journal).unwrap();
    mknodat(CWD, &journal, FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(left(&place.target()).unwrap().unwrap().header().is_none(), "a pipe");
    store(&place.target(), &data()).publish(Attributes::default(), None).unwrap();
    assert!(std::fs::read(place.path()).unwrap() == data() && !part.exists() && !journal.exists());
}

#[cfg(unix)]
#[test]
fn links_under_the_names_of_ours_are_not_written_through() {
    type Link = fn(&Path, &Path) -> std::io::Result<()>;
    let links: [Link; 2] = [|to, at| std::os::unix::fs::symlink(to, at), |to, at| std::fs::hard_link(to, at)];
    for link in links {
        let place = Place::new();
        let (victim, (part, journal)) = (place.dir.path().join("victim"), names::part_and_journal(&place.path()));
        std::fs::write(&victim, "precious").unwrap();
        for name in [&part, &journal, &names::unwritten(&journal)] {
            link(&victim, name).unwrap();
        }
        store(&place.target(), &data()).publish(Attributes::default(), None).unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        assert!(std::fs::read(place.path()).unwrap() == data());
        assert_eq!(place.names().len(), 2, "{:?}", place.names());
    }
}

/// Others may keep all three names, as in a directory where everybody may write and nobody delete.
#[cfg(unix)]
#[test]
fn a_file_arrives_where_its_own_names_are_taken() {
    let place = Place::new();
    let (part, journal) = names::part_and_journal(&place.path());
    for name in [&part, &journal, &names::unwritten(&journal)] {
        std::fs::create_dir(name).unwrap(); // which nobody removes as a file
    }
    drop(store(&place.target(), &data()));
    assert_eq!(place.names().len(), 3, "nothing else is left: {:?}", place.names());
    store(&place.target(), &data()).publish(Attributes::default(), None).unwrap();
    assert!(std::fs::read(place.path()).unwrap() == data());
}

#[test]
fn nobody_waits_for_check_of_file_that_is_not_wanted_any_more() {
    let place = Place::new();
    let path = place.path();
    drop(store(&place.target(), &data()));
    let (part, journal) = names::part_and_journal(&path);
    // Minutes of reading.
    std::fs::File::options().write(true).open(&part).unwrap().set_len(1 << 40).unwrap();
    let mut huge = header();
    huge.size = 1 << 40;
    let mark = Mark { end: 1 << 40, blake3: blake3::hash(b"") };
    drop(journal::Writer::create(&journal, &huge, &[mark]).unwrap());
    let left = left(&place.target()).unwrap().expect("a partial file");
    assert!(ends_when_nobody_waits(while_wanted(move |wanted| left.check(&path, wanted))));
    assert_eq!(part.metadata().unwrap().len(), 1 << 40, "nothing is cut that was not read");
}

#[test]
fn a_half_written_journal_is_gone_after_the_next_download() {
    let place = Place::new();
    let unwritten = names::unwritten(&names::part_and_journal(&place.path()).1);
    for journaled in [false, true] {
        std::fs::write(&unwritten, "half a li").unwrap();
        let mut store = Store::new(&place.target(), Some(header()), Attributes::default()).unwrap();
        store.write(&data()[..if journaled { SIZE } else { 1000 }]).unwrap();
        store.publish(Attributes::default(), None).unwrap();
        assert_eq!(place.names(), ["file"], "{journaled}");
    }
}
