//! One request to the server and its answer.

use super::target::Target;
use crate::client::patience::Patience;
use crate::client::source::{Session, Source};
use crate::client::trouble::{Refused, Trouble};
use crate::failure::Failure;
use crate::wire;
use anyhow::{Context, anyhow};
use bytes::{Buf, Bytes};
use core::time::Duration;
use h3::error::{Code, StreamError};
use http::{Request, Response, StatusCode, request};
use pcc_net::escape_for_terminal;
use pcc_quic::http3::RequestStream;

/// Of a refusal's text so much is shown, and so long it is waited for: its status is known already.
const LONGEST_REASON: usize = 400;
const REASON_PATIENCE: Duration = Duration::from_secs(2);

/// Something else has the name there: a file that of a directory, or the other way round.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {reason}")]
pub(super) struct InTheWay {
    pub(super) url: String,
    pub(super) reason: String,
}

/// The file there is another one than was spoken of.
#[derive(Debug, thiserror::Error)]
#[error("the server refused {url}: {reason}")]
pub(super) struct OtherVersion {
    url: String,
    reason: String,
}

/// Asks something that needs no body, until it is answered: by success, or by a status that is `expected`, too.
pub(super) async fn ask(
    source: &Source,
    target: &Target,
    request: request::Builder,
    expected: &[StatusCode],
) -> anyhow::Result<StatusCode> {
    ask_for(source, target, request, expected).await.map(|answer| answer.status())
}

/// The same, with all of the answer's head.
pub(super) async fn ask_for(
    source: &Source,
    target: &Target,
    request: request::Builder,
    expected: &[StatusCode],
) -> anyhow::Result<Response<()>> {
    let request = request.body(()).context("could not form the request")?;
    let mut patience = Patience::of(source);
    loop {
        let session = source.session().await?;
        let outcome = match Exchange::open(&mut patience, &session, target, request.clone()).await {
            Ok(exchange) => exchange.settle(expected, &mut patience).await,
            Err(trouble) => Err(trouble),
        };
        match outcome {
            Ok(response) => {
                patience.done();
                return Ok(response);
            }
            Err(trouble) => patience.pause(trouble).await?,
        }
    }
}

/// A request under way. Dropped before it is answered, it is cancelled: otherwise its body would seem to end there.
pub(super) struct Exchange<'a> {
    session: &'a Session,
    target: &'a Target,
    stream: RequestStream,
    answer: Option<Response<()>>,
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if self.answer.is_none() {
            self.stream.stop_stream(Code::H3_REQUEST_CANCELLED);
        }
    }
}

impl<'a> Exchange<'a> {
    pub(super) async fn open(
        patience: &mut Patience<'_>,
        session: &'a Session,
        target: &'a Target,
        request: Request<()>,
    ) -> Result<Self, Trouble> {
        patience.ask();
        let mut requests = session.requests();
        let opened = async { requests.send_request(request).await.map_err(|error| lost(session, &error)) };
        let stream = patience.wait(opened).await?;
        Ok(Self { session, target, stream, answer: None })
    }

    /// Sends a part of the body; answers whether the server takes more. If not, its answer tells why, or the lost
    /// connection does.
    pub(super) async fn send(&mut self, part: Bytes, patience: &mut Patience<'_>) -> Result<bool, Trouble> {
        patience.wait(async { Ok(self.stream.send_data(part).await.is_ok()) }).await
    }

    /// Waits for an answer that comes before the end of the body. May be dropped while it waits, and called again.
    pub(super) async fn answered(&mut self) -> Result<(), Trouble> {
        while self.answer.is_none() {
            let response = self.stream.recv_response().await.map_err(|error| lost(self.session, &error))?;
            // "Go on" and its kin are no answers (RFC 9110 §15.2).
            self.answer = Some(response).filter(|response| !response.status().is_informational());
        }
        Ok(())
    }

    /// Ends the body, and answers a success.
    pub(super) async fn finish(self, patience: &mut Patience<'_>) -> Result<Response<()>, Trouble> {
        self.settle(&[], patience).await
    }

    /// The same; also a 404, if the server knows of nothing there.
    pub(super) async fn find(self, patience: &mut Patience<'_>) -> Result<Response<()>, Trouble> {
        self.settle(&[StatusCode::NOT_FOUND], patience).await
    }

    /// The same; the answer may have a status that is `expected`, too.
    async fn settle(mut self, expected: &[StatusCode], patience: &mut Patience<'_>) -> Result<Response<()>, Trouble> {
        self.end(patience).await?;
        match &self.answer {
            Some(answer) if expected.contains(&answer.status()) => Ok(answer.clone()),
            _ => self.success().await,
        }
    }

    async fn end(&mut self, patience: &mut Patience<'_>) -> Result<(), Trouble> {
        patience
            .wait(async {
                // A stream that the server stopped cannot be finished; its answer says why it stopped.
                let _ = self.stream.finish().await;
                self.answered().await
            })
            .await
    }

    async fn success(&mut self) -> Result<Response<()>, Trouble> {
        match &self.answer {
            Some(answer) if answer.status().is_success() => Ok(answer.clone()),
            Some(answer) => {
                let answer = answer.clone();
                Err(self.refusal(&answer).await)
            }
            None => Err(Trouble::Passing(anyhow!("the server did not answer"))),
        }
    }

    /// Turns a refusal into words.
    async fn refusal(&mut self, answer: &Response<()>) -> Trouble {
        // Whether it says from where the upload would go on.
        let (status, elsewhere) = (answer.status(), answer.headers().contains_key(wire::UPLOAD_OFFSET));
        let reason = self.reason().await;
        let url = self.target.url.short();
        Trouble::Final(match status {
            StatusCode::UNAUTHORIZED => anyhow!(
                "{url}: wrong token; whoever runs the server knows the right one: it made it at its start and printed it, or has it from PCC_TOKEN or --token-file"
            ),
            StatusCode::UNPROCESSABLE_ENTITY => {
                anyhow!("{url} arrived damaged: {reason}; run the command again").context(Failure::Integrity)
            }
            StatusCode::CONFLICT if elsewhere => {
                return Trouble::Passing(Refused::Told(format!("{url} goes on elsewhere: {reason}")).into());
            }
            StatusCode::CONFLICT => InTheWay { url, reason }.into(),
            StatusCode::PRECONDITION_FAILED => OtherVersion { url, reason }.into(),
            StatusCode::SERVICE_UNAVAILABLE => {
                let why = format!("{url}: the server is busy: {reason}");
                return Trouble::Passing(Refused::for_now(why, answer.headers()).into());
            }
            // A missing directory is made; where that fails, something is in its way.
            StatusCode::NOT_FOUND if reason == wire::NO_SUCH_FILE => {
                anyhow!(
                    "the server refused {url} ({status}): {reason}; perhaps a file is where a directory is needed, or the URL is not the one that the server prints"
                )
            }
            _ => anyhow!("the server refused {url} ({status}): {reason}"),
        })
    }

    /// The server's explanation of its refusal, as far as it comes soon.
    async fn reason(&mut self) -> String {
        let mut text = Vec::new();
        let _ = tokio::time::timeout(REASON_PATIENCE, async {
            while text.len() < LONGEST_REASON
                && let Ok(Some(piece)) = self.stream.recv_data().await
            {
                let piece = piece.chunk();
                text.extend_from_slice(&piece[..piece.len().min(LONGEST_REASON - text.len())]);
            }
        })
        .await; // what has come until then will do
        self.stream.stop_sending(Code::H3_NO_ERROR);
        let text = escape_for_terminal(String::from_utf8_lossy(&text).trim());
        if text.is_empty() { "it gives no reason".to_owned() } else { text }
    }
}

fn lost(session: &Session, error: &StreamError) -> Trouble {
    session.retire();
    Trouble::Passing(session.explain(error))
}
