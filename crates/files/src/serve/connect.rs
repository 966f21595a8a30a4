//! CONNECT: tunnels for those who have the token. Each counts as a request, whose descriptors its socket takes.

use super::answer::{self, Outcome};
use super::broken::Broken;
use super::service::{Asker, Service};
use super::stream::Stream;
use super::token::Token;
use http::{HeaderValue, Request, StatusCode, header};
use pcc_tunnel::Gate;

/// RFC 9209.
const PROXY_STATUS: &str = "proxy-status";

/// The clients that may have tunnels, and their targets.
#[derive(Debug)]
pub struct Tunnels {
    /// Of those who may.
    pub token: Token,
    /// Where tunnels may lead, and how many.
    pub gate: Gate,
}

/// Answers CONNECT, and carries bytes until the tunnel ends.
pub(super) async fn answer(
    service: &Service,
    asker: &Asker,
    request: &Request<()>,
    mut stream: Stream,
) -> Result<Outcome, Broken> {
    let Some(tunnels) = &service.tunnels else {
        let why = "this server has no tunnels: start it with `pcc serve --tunnel --allow HOST:PORT`";
        return answer::refuse(&mut stream, StatusCode::NOT_IMPLEMENTED, why).await;
    };
    if !tunnels.token.opens(request.headers()).await {
        let unknown = answer::response(StatusCode::UNAUTHORIZED).header(header::WWW_AUTHENTICATE, "Bearer");
        return answer::refuse_with(
            &mut stream,
            unknown,
            "tunnels need the token, which the server prints at its start",
        )
        .await;
    }
    let network = asker.network();
    match tunnels.gate.connect(network, request, service.look_ups.turn(network)).await {
        Ok(connected) => {
            asker.may_upload(&service.unwritten);
            let status = answer::send_head(&mut stream, answer::response(StatusCode::OK)).await?;
            // Nobody else is led here.
            let Stream::Quic(stream, _) = stream else { return Err(Broken::Left) };
            let done = connected.carry(stream).await;
            Ok(Outcome { status, bytes: done.bytes, cut: done.broken.map(Broken::Tunnel) })
        }
        Err(problem) => {
            let proxy_status = HeaderValue::from_static(problem.proxy_status());
            let refusal = answer::response(problem.status()).header(PROXY_STATUS, proxy_status);
            answer::refuse_with(&mut stream, refusal, &problem.to_string()).await
        }
    }
}
