//! A place on a computer that ssh reaches, as a user writes it.

use pcc_files::Names;

/// A path on a computer that is reached by ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The user who logs in there; ssh decides without one.
    pub user: Option<String>,
    /// A name, an alias of ssh's configuration or an address, the latter without brackets.
    pub host: String,
    /// As it was written: relative to the user's home there, unless it begins with a slash.
    pub path: String,
}

/// Why a text is no such place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRemote {
    /// scp and rsync take it for a file of this computer, too.
    #[error("is neither a URL nor HOST:PATH")]
    Local,
    /// The name is empty.
    #[error("names no host in front of the colon")]
    NoHost,
    /// ssh takes no such host.
    #[error("has a user name or a host that begins with a hyphen, which ssh would take for an option")]
    Option,
    /// It ends too early, or is in the wrong place.
    #[error("has brackets that do not hold an address with `:PATH` behind them")]
    Brackets,
    /// No host has one.
    #[error("has a user name or a host with a blank or a control character in it")]
    Blank,
}

impl Remote {
    /// As scp reads it: the host ends at the first colon, unless a slash comes before. An IPv6 address has brackets.
    ///
    /// Errors: it is a file of this computer, or the host cannot be one.
    pub fn parse(written: &str) -> Result<Self, NotRemote> {
        let (address, path) = split(written)?;
        Self::at(address, path)
    }

    /// `user@host` as ssh reads it, where an IPv6 address may have brackets, and a path there.
    ///
    /// Errors: the host cannot be one.
    pub fn at(address: &str, path: &str) -> Result<Self, NotRemote> {
        let (user, host) = match address.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, address),
        };
        let host = match host.strip_prefix('[') {
            Some(inside) => inside.strip_suffix(']').ok_or(NotRemote::Brackets)?,
            None => host,
        };
        if host.is_empty() || user == Some("") {
            return Err(NotRemote::NoHost);
        }
        if [Some(host), user].into_iter().flatten().any(|part| part.contains(['/', '[', ']'])) {
            return Err(NotRemote::Brackets);
        }
        if [Some(host), user].into_iter().flatten().any(|part| part.starts_with('-')) {
            return Err(NotRemote::Option);
        }
        if address.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(NotRemote::Blank);
        }
        Ok(Self { user: user.map(str::to_owned), host: host.to_owned(), path: path.to_owned() })
    }

    /// The path's last name, if the user wrote one.
    pub fn name(&self) -> Option<&str> {
        last_name(&self.path)
    }

    /// Whether the path can only be that of a directory: it ends with a slash, or in no name.
    pub fn is_directory(&self) -> bool {
        is_directory(&self.path)
    }

    /// The last name of the path, if it may be a pattern of names.
    pub fn pattern(&self) -> Option<&str> {
        directory_and_pattern(&self.path).map(|(_, pattern)| pattern)
    }

    /// For messages, and as another name of what is there: `user@host:`.
    pub fn address(&self) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        if self.host.contains(':') { format!("{user}[{}]:", self.host) } else { format!("{user}{}:", self.host) }
    }
}

/// The last name of a path; `None` for the home directory, a root, and what ends in `.` or `..`.
fn last_name(path: &str) -> Option<&str> {
    let last = path.trim_end_matches('/').rsplit('/').next();
    last.filter(|last| !matches!(*last, "" | "." | "..") && path.trim_end_matches('/') != "~")
}

/// Whether a path as it is written can only be that of a directory.
pub(crate) fn is_directory(path: &str) -> bool {
    path.ends_with('/') || last_name(path).is_none()
}

/// The directory and the pattern of names in it, if the last name of a path may be a pattern.
pub(crate) fn directory_and_pattern(path: &str) -> Option<(&str, &str)> {
    let (directory, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
    Names::is_pattern(name).then_some((directory, name))
}

/// Divides `user@host` from the path behind the colon.
fn split(written: &str) -> Result<(&str, &str), NotRemote> {
    let opening = written.find('[').filter(|at| *at == 0 || written[..*at].ends_with('@'));
    if let Some(at) = opening.filter(|at| !written[..*at].contains(['/', ':'])) {
        let end = at + written[at..].find(']').ok_or(NotRemote::Brackets)? + 1;
        let path = written[end..].strip_prefix(':').ok_or(NotRemote::Brackets)?;
        return Ok((&written[..end], path));
    }
    let (address, path) = written.split_once(':').ok_or(NotRemote::Local)?;
    if address.contains('/') || (cfg!(windows) && is_drive(address)) {
        return Err(NotRemote::Local);
    }
    Ok((address, path))
}

/// Whether it is the drive of a path like `C:\file`.
fn is_drive(address: &str) -> bool {
    matches!(address.as_bytes(), [letter] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn remote(user: &str, host: &str, path: &str) -> Remote {
        let user = Some(user.to_owned()).filter(|user| !user.is_empty());
        Remote { user, host: host.to_owned(), path: path.to_owned() }
    }

    #[test]
    fn places_are_read_as_scp_reads_them() {
        for (written, user, host, path) in [
            ("host:file", "", "host", "file"),
            ("me@host:/a/b", "me", "host", "/a/b"),
            ("host:", "", "host", ""),
            ("host:a:b@c/[d]", "", "host", "a:b@c/[d]"),
            ("me@corp@host:x", "me@corp", "host", "x"),
            ("[::1]:/a", "", "::1", "/a"),
            ("me@[2001:db8::1]:a:b", "me", "2001:db8::1", "a:b"),
            ("[host]:a", "", "host", "a"),
            ("host:[1]", "", "host", "[1]"),
        ] {
            assert_eq!(Remote::parse(written), Ok(remote(user, host, path)), "{written}");
        }
    }

    #[test]
    fn the_last_name_may_be_a_pattern() {
        for (path, parts) in [
            ("*.log", Some(("", "*.log"))),
            ("/a/b/?.[ch]", Some(("/a/b/", "?.[ch]"))),
            ("a*/b", None),
            ("dir/", None),
            ("", None),
        ] {
            assert_eq!(directory_and_pattern(path), parts, "{path}");
        }
    }

    #[test]
    fn only_a_written_name_is_one() {
        for (path, name, directory) in [
            ("a", Some("a"), false),
            ("/x/a", Some("a"), false),
            ("a//", Some("a"), true),
            ("%41", Some("%41"), false),
            ("~/a", Some("a"), false),
            ("", None, true),
            ("~", None, true),
            ("~/", None, true),
            ("/", None, true),
            ("a/..", None, true),
            ("a/.", None, true),
        ] {
            assert_eq!((last_name(path), is_directory(path)), (name, directory), "{path}");
        }
    }

    #[test]
    fn a_slash_before_the_colon_makes_it_a_file() {
        for written in ["./a:b", "/a:b", "dir/me@host:x", "file", "", "me@host"] {
            assert_eq!(Remote::parse(written), Err(NotRemote::Local), "{written}");
        }
        assert!(is_drive("C") && is_drive("z") && !is_drive("CC") && !is_drive("1") && !is_drive(""));
        assert_eq!(Remote::parse("C:\\file").is_err(), cfg!(windows));
    }

    #[test]
    fn ssh_takes_no_host_for_an_option() {
        for (written, why) in [
            ("-oProxyCommand=x:y", NotRemote::Option),
            ("me@-oProxyCommand=x:y", NotRemote::Option),
            ("-l@host:y", NotRemote::Option),
            (":path", NotRemote::NoHost),
            ("me@:path", NotRemote::NoHost),
            ("@host:path", NotRemote::NoHost),
            ("[]:path", NotRemote::NoHost),
            ("[::1]", NotRemote::Brackets),
            ("[::1:a", NotRemote::Brackets),
            ("me@[/]:a", NotRemote::Brackets),
            ("a b:c", NotRemote::Blank),
            ("a\nb:c", NotRemote::Blank),
        ] {
            assert_eq!(Remote::parse(written), Err(why), "{written}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_a_place_is_found_again_as_written(written in "[a-c@:/\\[\\] .-]{0,16}|\\PC{0,16}") {
            if let Ok(remote) = Remote::parse(&written) {
                let again = format!("{}{}", remote.address(), remote.path);
                prop_assert_eq!(Remote::parse(&again), Ok(remote.clone()));
                prop_assert!(!remote.host.starts_with('-') && !remote.host.is_empty());
                let end = format!(":{}", remote.path);
                prop_assert!(written.ends_with(&end));
            }
        }

        #[test]
        fn any_host_and_path_make_a_place(user in "[a-z]{1,8}", host in "[a-z0-9.]{2,12}", path in "\\PC{0,20}") {
            prop_assert_eq!(Remote::parse(&format!("{user}@{host}:{path}")), Ok(remote(&user, &host, &path)));
            let local = format!("./{host}:{path}");
            prop_assert_eq!(Remote::parse(&local), Err(NotRemote::Local));
        }

        #[test]
        fn any_ipv6_address_in_brackets_is_a_host(ip in any::<std::net::Ipv6Addr>(), path in "[a-z:/]{0,8}") {
            prop_assert_eq!(Remote::parse(&format!("[{ip}]:{path}")), Ok(remote("", &ip.to_string(), &path)));
        }
    }
}
