//! PCC and s2n-quic's own CUBIC over the loopback interface, in turns: `loopback [MEGABYTES [ROUNDS [BUFFER]]]`.
//! BUFFER: bytes of the sockets' receive buffers; without it 4 MiB, 0 for what the system gives.

use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Cubic, Provider};
use s2n_quic::provider::io::tokio::Builder;
use s2n_quic::{Client, Server};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

type Anyhow<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Far longer than a round takes on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a program")]
async fn main() -> Anyhow<()> {
    let argument = |index| std::env::args().nth(index).map(|written| written.parse::<usize>()).transpose();
    let (megabytes, rounds) = (argument(1)?.unwrap_or(200), argument(2)?.unwrap_or(5).max(1));
    let buffer = argument(3)?.unwrap_or(4 << 20);
    let (mut pcc, mut cubic) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        pcc.push(mbit(pcc_s2n::PccConfig::default(), megabytes, buffer).await?);
        cubic.push(mbit(Cubic::default(), megabytes, buffer).await?);
    }
    println!("pcc   {pcc:.0?} Mbit/s\ncubic {cubic:.0?} Mbit/s");
    println!("ratio of medians {:.2}", median(&mut pcc) / median(&mut cubic));
    Ok(())
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// A socket whose buffer holds what comes while its reader is not scheduled.
fn io(buffer: usize) -> Anyhow<s2n_quic::provider::io::tokio::Provider> {
    let builder = Builder::default().with_receive_address(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    Ok(if buffer == 0 { builder } else { builder.with_recv_buffer_size(buffer)? }.build()?)
}

async fn mbit(controller: impl Provider + 'static, megabytes: usize, buffer: usize) -> Anyhow<f64> {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let mut server = Server::builder()
        .with_tls((certificate.as_str(), key.as_str()))?
        .with_io(io(buffer)?)?
        .with_congestion_controller(controller)
        .map_err(|never| never.to_string())?
        .start()?;
    let address = server.local_addr()?;
    let sending = tokio::spawn(async move {
        let mut connection = server.accept().await.ok_or("the server was closed")?;
        let mut stream = connection.open_send_stream().await?;
        for _ in 0..megabytes {
            stream.send(bytes::Bytes::from_static(&[7; 1_000_000])).await?;
        }
        stream.finish()?;
        // It lives until the client has read all of it.
        let _ = connection.accept_bidirectional_stream().await;
        Anyhow::Ok(())
    });
    let client = Client::builder().with_tls(certificate.as_str())?.with_io(io(buffer)?)?.start()?;
    let mut connection = client.connect(Connect::new(address).with_server_name("localhost")).await?;
    let mut stream = connection.accept_receive_stream().await?.ok_or("no stream")?;
    let began = Instant::now();
    let mut arrived = 0;
    while let Some(piece) = tokio::time::timeout(PATIENCE, stream.receive()).await?? {
        arrived += piece.len();
    }
    let passed = began.elapsed().as_secs_f64();
    connection.close(0_u32.into());
    sending.await??;
    assert_eq!(arrived, megabytes * 1_000_000);
    Ok(arrived as f64 * 8e-6 / passed)
}
