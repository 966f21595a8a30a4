//! A place on a computer that ssh reaches, as a user writes it.

use pcc_files::Names;

/// A path on a computer that is reached by ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Who logs in there; ssh decides without.
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

    /// The directory and the pattern of names in it, if the last name of the path is a pattern.
    pub fn pattern(&self) -> (&str, Option<&str>) {
        let end = self.path.rfind('/').map_or(0, |slash| slash + 1);
        let (directory, name) = self.path.split_at(end);
        if !Names::is_pattern(name) {
            return (&self.path, None);
        }
        (if directory.is_empty() { "." } else { directory }, Some(name))
    }

    /// For messages, and as another name of what is there: `user@host:`.
    pub fn address(&self) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        if self.host.contains(':') { format!("{user}[{}]:", self.host) } else { format!("{user}{}:", self.host) }
    }
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
        for (path, directory, pattern) in [
            ("*.log", ".", Some("*.log")),
            ("/a/b/?.[ch]", "/a/b/", Some("?.[ch]")),
            ("a*/b", "a*/b", None),
            ("dir/", "dir/", None),
            ("", "", None),
        ] {
            assert_eq!(remote("", "host", path).pattern(), (directory, pattern), "{path}");
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
