//! Ctrl-C, and a service manager's request to end: heard in one place for all commands.

use crate::exit::Failure;
use anyhow::Context;
use std::process::exit;
use tokio::runtime::Builder;
use tokio::sync::watch;

/// Whether, how and how often somebody asked this program to end.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<Requests>);

#[derive(Clone, Copy, Debug, Default)]
struct Requests {
    number: u32,
    first: Option<Failure>,
    /// One of them was no Ctrl-C.
    is_terminated: bool,
}

impl Interrupt {
    /// Listens from now on. The first `heeded` requests are the command's to obey; the next one ends the program at
    /// once, whatever the command is doing.
    ///
    /// On a thread of its own: whoever presses Ctrl-C twice does so because the others do not answer.
    pub fn listen(heeded: u32) -> anyhow::Result<Self> {
        let (tell, told) = watch::channel(Requests::default());
        let runtime = Builder::new_current_thread().enable_io().build().context("could not listen for Ctrl-C")?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::new().context("could not listen for Ctrl-C")?
        };
        let count = async move {
            loop {
                let request = signals.next().await;
                tell.send_modify(|asked| {
                    asked.number = asked.number.saturating_add(1);
                    asked.first.get_or_insert(request);
                    asked.is_terminated |= request == Failure::Terminated;
                });
                if tell.borrow().number > heeded {
                    exit(i32::from(request as u8));
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(move || runtime.block_on(count)).context("no thread to listen for Ctrl-C")?;
        Ok(Self(told))
    }

    /// Resolves once somebody asked: how a command ends that was not through.
    pub async fn heard(&self) -> Failure {
        self.heard_times(1).await
    }

    /// Resolves once somebody asked so often.
    pub async fn heard_times(&self, number: u32) -> Failure {
        let mut asked = self.0.clone();
        let first = asked.wait_for(|asked| asked.number >= number).await.ok().and_then(|asked| asked.first);
        match first {
            Some(request) => request,
            None => std::future::pending().await, // nobody listens any more
        }
    }

    /// How somebody asked, if that has happened.
    pub fn is_heard(&self) -> Option<Failure> {
        self.0.borrow().first
    }

    /// Whether a service manager or batch system asked for the end, before or after Ctrl-C was pressed.
    #[cfg(target_os = "linux")]
    pub fn is_terminated(&self) -> bool {
        self.0.borrow().is_terminated
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Failure {
        tokio::select! {
            _ = self.interrupt.recv() => Failure::Interrupted,
            _ = self.terminate.recv() => Failure::Terminated,
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> Failure {
        match self.0.recv().await {
            Some(()) => Failure::Interrupted,
            None => std::future::pending().await,
        }
    }
}
