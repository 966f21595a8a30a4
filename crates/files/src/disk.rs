//! File operations that the standard library does not offer on all systems alike: room for a file, reading and writing
//! anywhere in it, and a name that lasts.

use cap_std::fs::{Dir, File, FileExt};
#[cfg(unix)]
use pcc::units::Bytes;
use std::io;
use std::path::Path;

/// Whether the file system has room for `length` more bytes now.
///
/// Errors: `StorageFull` if it has not. File systems that do not tell find out while writing.
#[cfg(unix)]
pub(crate) fn has_room(file: impl std::os::fd::AsFd, length: u64) -> io::Result<()> {
    compare(rustix::fs::fstatvfs(file), length)
}

#[cfg(not(unix))]
pub(crate) fn has_room<F>(_: F, _: u64) -> io::Result<()> {
    Ok(())
}

/// The same of the file system that `path` is on, or will be on once it is made.
#[cfg(unix)]
pub(crate) fn has_room_at(path: &Path, length: u64) -> io::Result<()> {
    let absolute = std::path::absolute(path)?;
    let found = absolute.ancestors().find_map(|path| rustix::fs::statvfs(path).ok());
    found.map_or(Ok(()), |found| compare(Ok(found), length))
}

#[cfg(not(unix))]
pub(crate) fn has_room_at(_: &Path, _: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn compare(found: rustix::io::Result<rustix::fs::StatVfs>, length: u64) -> io::Result<()> {
    let Ok(found) = found else { return Ok(()) };
    let room = found.f_bavail.saturating_mul(found.f_frsize);
    if length <= room {
        return Ok(());
    }
    let (length, room) = (Bytes::new(length), Bytes::new(room));
    Err(io::Error::new(io::ErrorKind::StorageFull, format!("{length} are to come, and the disk has room for {room}")))
}

/// Whether what went wrong with one file goes wrong with all others: there is no room, nothing may be written, the disk
/// fails, or no more files may be open.
pub(crate) fn concerns_all(error: &anyhow::Error) -> bool {
    let hopeless = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem
        ) || error.raw_os_error().is_some_and(|code| HOPELESS.contains(&code))
    };
    error.chain().filter_map(|cause| cause.downcast_ref()).any(hopeless)
}

/// Codes without a kind: too many open files, and a disk that fails.
#[cfg(unix)]
const HOPELESS: [i32; 3] = [libc::EMFILE, libc::ENFILE, libc::EIO];
#[cfg(windows)]
const HOPELESS: [i32; 2] = {
    use windows_sys::Win32::Foundation::{ERROR_IO_DEVICE, ERROR_TOO_MANY_OPEN_FILES};
    [ERROR_TOO_MANY_OPEN_FILES as i32, ERROR_IO_DEVICE as i32]
};

/// Reads from `at` on, wherever others read and write.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    {
        file.read_at(buffer, at)
    }
    #[cfg(windows)]
    file.seek_read(buffer, at)
}

/// Appends what follows `at`, `wanted` bytes or fewer, into memory that need not be cleared before. 0 at the end of the file.
pub(crate) fn append_at(file: &File, buffer: &mut Vec<u8>, wanted: usize, at: u64) -> io::Result<usize> {
    let before = buffer.len();
    #[cfg(unix)]
    {
        buffer.reserve_exact(wanted);
        rustix::io::pread(file, rustix::buffer::spare_capacity(buffer), at)?;
        buffer.truncate(before + wanted); // there may have been more room
        Ok(buffer.len() - before)
    }
    #[cfg(windows)]
    {
        buffer.resize(before + wanted, 0);
        let read = file.seek_read(&mut buffer[before..], at);
        buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        read
    }
}

/// Appends `wanted` bytes of what follows `at`, fewer only at the end of the file. Blocks.
pub(crate) fn append_all_at(file: &File, buffer: &mut Vec<u8>, wanted: usize, at: u64) -> io::Result<()> {
    let (begin, end) = (buffer.len(), buffer.len() + wanted);
    while buffer.len() < end {
        match append_at(file, buffer, end - buffer.len(), at + (buffer.len() - begin) as u64) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes from `at` on, wherever others read and write.
pub(crate) fn write_at(file: &File, data: &[u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    {
        file.write_at(data, at)
    }
    #[cfg(windows)]
    file.seek_write(data, at)
}

/// Makes renames in the directory last over a loss of power.
#[cfg(unix)]
pub(crate) fn sync_dir(dir: &Dir) -> io::Result<()> {
    // A handle that only names the directory cannot be synchronised, so it is opened for reading.
    let readable = dir.open(".")?;
    readable.sync_all()
}

/// Windows does not let programs write a directory to the disk; NTFS keeps a journal of renames.
#[cfg(windows)]
pub(crate) fn sync_dir(_: &Dir) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_ends_everything_is_what_no_other_file_is_spared() {
        let because = |code| disk_error(io::Error::from_raw_os_error(code));
        for code in [libc::ENOSPC, libc::EDQUOT, libc::EROFS, libc::EMFILE, libc::ENFILE, libc::EIO] {
            assert!(concerns_all(&because(code)), "{}", io::Error::from_raw_os_error(code));
        }
        for code in [
            libc::EACCES,
            libc::EPERM,
            libc::ENAMETOOLONG,
            libc::EISDIR,
            libc::ENOTDIR,
            libc::ELOOP,
            libc::EILSEQ,
            libc::EINVAL,
            libc::EBUSY,
            libc::EFBIG,
        ] {
            assert!(!concerns_all(&because(code)), "{}", io::Error::from_raw_os_error(code));
        }
    }

    #[cfg(unix)]
    fn disk_error(error: io::Error) -> anyhow::Error {
        anyhow::Error::new(error).context("could not write a file").context("a file is missing")
    }

    #[cfg(unix)]
    #[test]
    fn place_that_is_not_made_yet_has_room_of_what_it_will_be_in() {
        let dir = tempfile::tempdir().unwrap();
        let later = dir.path().join("a/b/c");
        has_room_at(&later, 1).unwrap();
        let error = has_room_at(&later, u64::MAX).unwrap_err();
        assert!(error.kind() == io::ErrorKind::StorageFull && error.to_string().contains("room for"), "{error}");
    }
}
