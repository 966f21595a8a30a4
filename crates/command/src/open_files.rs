//! Whether this process may open the files that any command needs.

/// Descriptors that a command needs before it can say what it lacks: its threads' timers and wakers, the pipe of signals, a
/// socket. Some of the libraries that open them panic where they cannot.
#[cfg(unix)]
const NEEDED: usize = 16;

/// Errors: too few can be opened by this program.
#[cfg(unix)]
pub fn check(program: &str) -> anyhow::Result<()> {
    use anyhow::Context;
    use std::os::unix::net::UnixStream;
    let opened: std::io::Result<Vec<_>> = (0..NEEDED / 2).map(|_| UnixStream::pair()).collect();
    opened.map(drop).with_context(|| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let limit = limit.map_or("the system's limit of open files".to_owned(), |limit| {
            format!("the limit of open files, which is {limit},")
        });
        format!("{limit} leaves fewer than {NEEDED} to {program}: raise it with `ulimit -n 1024`")
    })
}

/// There is nothing to find out.
///
/// Errors: none.
#[cfg(not(unix))]
pub fn check(_program: &str) -> anyhow::Result<()> {
    Ok(())
}
