//! How one other computer is had to upload to another one.

use crate::greeting::{LONGEST_LINE, Order, Outcome, Wish};
use crate::reach::Route;
use crate::reach_error::ReachError;
use crate::remote::Remote;
use crate::started::{Started, ended};
use pcc_net::escape_for_terminal;
use std::io::{self, BufReader};
use std::process::ChildStdout;
use tokio::sync::oneshot;

/// Bytes of an order: some less than what the far side takes for a line.
pub(crate) const LONGEST_ORDER: u64 = LONGEST_LINE - 1024;

/// An upload under way from one other computer to another one. Dropping it ends it at once.
pub struct Sent {
    far: Started,
    output: Option<BufReader<ChildStdout>>,
}

/// Has ssh start an upload on that computer, to another one.
///
/// Errors: as of [`reach`](crate::reach()); the order is too long.
pub async fn send(route: &Route, from: &Remote, order: Order) -> Result<Sent, ReachError> {
    if serde_json::to_string(&order).is_ok_and(|text| text.len() as u64 > LONGEST_ORDER) {
        return Err(ReachError::TooLong);
    }
    let host = escape_for_terminal(&from.host);
    let (mut far, outcome) = match Started::start(route, from, Wish::Send(Box::new(order))).await {
        // An earlier version's answer to a wish that it does not know.
        Err(ReachError::Refused { reason, .. }) if reason.contains("unknown variant `send`") => {
            return Err(ReachError::TooOld { program: route.program(), host });
        }
        started => started?,
    };
    let output = far.output.take().filter(|_| matches!(outcome, Outcome::Sending(_)));
    let output = output.ok_or_else(|| ReachError::NotAsked { address: escape_for_terminal(&from.address()) })?;
    Ok(Sent { far, output: Some(output) })
}

impl Sent {
    /// Resolves when the upload has ended, with its exit code, if it has one. Its words come to standard output meanwhile.
    ///
    /// Errors: nobody knows how it ended.
    pub async fn ended(&mut self) -> Result<Option<i32>, ReachError> {
        if let Some(mut output) = self.output.take() {
            let (done, copied) = oneshot::channel();
            std::thread::Builder::new().spawn(move || {
                // A reader who wants no more of it does not end the upload.
                let _ = io::copy(&mut output, &mut io::stdout());
                let _ = done.send(());
            })?;
            let _ = copied.await;
        }
        Ok(ended(&mut self.far.ssh).await?.code())
    }

    /// Ends the upload, if it has not ended, in good order.
    pub async fn end(self) {
        self.far.end().await;
    }
}
