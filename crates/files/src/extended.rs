//! Extended attributes (xattr(7)) and access control lists (acl(5)) of files and directories, which a copy may keep over ssh.

mod acls;
#[cfg(target_os = "linux")]
mod linux;
mod xattrs;

pub(crate) use acls::Acls;
#[cfg(target_os = "linux")]
pub(crate) use linux::{copy_unknown, end_list, give_acls, give_xattrs, of, opened};
pub(crate) use xattrs::Xattrs;

use crate::wire;
use core::sync::atomic::{AtomicBool, Ordering};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use std::io;
use std::path::Path;

/// Bytes of a field: both leave a third of a message's head ([`pcc_quic::http3::MAX_HEADER_BYTES`]) to the other fields.
const LONGEST: usize = 10 << 10;

/// The kinds that are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub(crate) xattrs: bool,
    pub(crate) acls: bool,
}

/// All that is known of them. A kind that is unknown stays as it is at the destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extended {
    pub(crate) xattrs: Option<Xattrs>,
    pub(crate) acls: Option<Acls>,
}

impl Extended {
    /// Those of these kinds.
    pub(crate) fn only(self, kinds: Kinds) -> Self {
        Self { xattrs: self.xattrs.filter(|_| kinds.xattrs), acls: self.acls.filter(|_| kinds.acls) }
    }

    /// The same where the permissions are these: an access control list has them in it.
    pub(crate) fn with_mode(self, mode: Option<u32>) -> Self {
        let acls = match (self.acls, mode) {
            (Some(acls), Some(mode)) => Some(acls.with_mode(mode)),
            (acls, _) => acls,
        };
        Self { acls, ..self }
    }

    /// Those of these kinds that a message tells. A list has names in it that are looked up, so nobody's is read unasked.
    pub(crate) fn told(headers: &HeaderMap, kinds: Kinds) -> Self {
        let text = |is_wanted: bool, name| headers.get(Some(name).filter(|_| is_wanted)?)?.to_str().ok();
        Self {
            xattrs: text(kinds.xattrs, wire::FILE_XATTRS).and_then(xattrs),
            acls: text(kinds.acls, wire::FILE_ACLS).and_then(acls),
        }
    }

    /// Those that this process can give.
    pub(crate) fn givable(self) -> Self {
        Self { xattrs: self.xattrs.map(Xattrs::givable), ..self }
    }

    /// Those that have room in a field; unknown if they have none.
    pub(crate) fn with_room(self) -> Self {
        Self {
            xattrs: self.xattrs.filter(|xattrs| xattrs.text().len() <= LONGEST),
            // Numbers first: to find names may take long.
            acls: self.acls.filter(|acls| [false, true].into_iter().all(|named| acls.text(named).len() <= LONGEST)),
        }
    }

    /// The fields that say it; users and groups by name, too, if that is wanted.
    pub(crate) fn fields(&self, with_names: bool) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let xattrs = self.xattrs.as_ref().map(|xattrs| (wire::FILE_XATTRS, xattrs.text()));
        let acls = self.acls.as_ref().map(|acls| (wire::FILE_ACLS, acls.text(with_names)));
        let value = |(name, text): (HeaderName, String)| Some((name, HeaderValue::from_str(&text).ok()?));
        [xattrs, acls].into_iter().flatten().filter_map(value)
    }

    /// Bytes of memory that they take, roughly: a map takes some 600, and a short attribute's entry nine times its text.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.fields(false).map(|(_, text)| text.len());
        texts.filter(|length| *length > 0).map(|length| 600 + 9 * length).sum()
    }

    /// Warns once if a kind that is to be kept of `what` is unknown.
    pub(crate) fn warn_unknown(&self, kept: Kinds, what: &dyn core::fmt::Display) {
        static TOLD: AtomicBool = AtomicBool::new(false);
        let is_unknown = kept.xattrs && self.xattrs.is_none() || kept.acls && self.acls.is_none();
        if is_unknown && !TOLD.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "-X or -A: nothing is known of {what}, so the copy stays as it is. Either there is more than has room, or it cannot be \
                 read, or that computer runs no Linux or an older `pcc`. No other file is named"
            );
        }
    }
}

/// Extended attributes as a field has them. `None` for any other text.
pub(crate) fn xattrs(text: &str) -> Option<Xattrs> {
    (text.len() <= LONGEST).then(|| Xattrs::read(text))?
}

/// Access control lists as a field has them. `None` for any other text.
pub(crate) fn acls(text: &str) -> Option<Acls> {
    (text.len() <= LONGEST).then(|| Acls::read(text))?
}

/// Warns of the first failure to give any, and of no more: a file system without them refuses each.
pub(crate) fn warn_not_given(given: io::Result<()>, path: &Path) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if let Err(error) = given
        && !TOLD.swap(true, Ordering::Relaxed)
    {
        let path = path.display();
        tracing::warn!("-X or -A: {path} did not get all that its source has: {error}. No other file is named");
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn of<F>(_: F, _: Kinds) -> Extended {
    Extended::default()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn opened<F>(_: Kinds, _: impl FnOnce() -> io::Result<F>) -> io::Result<Extended> {
    Ok(Extended::default())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn give_xattrs<F>(extended: &Extended, _: F) -> io::Result<()> {
    if extended.xattrs.is_none() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end_list<F>(_: &Extended, _: Option<u32>, _: F) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn give_acls<F>(extended: &Extended, _: F) -> io::Result<()> {
    if extended.acls.is_none() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}
