use super::*;
use crate::tls::Identity;
use pcc_quic::transport::Windows;
use pcc_quic::{Algorithm, transport};

fn dialer(trust: Trust) -> Dialer {
    let transport = Arc::new(transport::config(&Algorithm::Cubic, &Windows::default()));
    Dialer {
        alpn: &[b"test"],
        trust,
        transport,
        endpoint: EndpointConfig::default(),
        timeout: TIMEOUT,
        family: Family::Any,
    }
}

fn local(port: u16) -> Peer {
    Peer { host: "127.0.0.1".to_owned(), port }
}

/// A server that accepts every connection.
fn server(identity: &Identity, alpn: &[&[u8]]) -> (Endpoint, Peer) {
    let config = noq::ServerConfig::with_crypto(Arc::new(tls::server(identity, alpn).unwrap()));
    let endpoint = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let accepting = endpoint.clone();
    tokio::spawn(async move {
        while let Some(incoming) = accepting.accept().await {
            tokio::spawn(async move {
                if let Ok(connection) = incoming.await {
                    connection.closed().await;
                }
            });
        }
    });
    let peer = local(endpoint.local_addr().unwrap().port());
    (endpoint, peer)
}

#[tokio::test]
async fn a_pinned_server_is_reached_without_an_authority() {
    let identity = Identity::generate().unwrap();
    let (_server, peer) = server(&identity, &[b"test"]);
    dialer(Trust::Pinned(identity.fingerprint())).dial(&peer).await.unwrap();
}

#[tokio::test]
async fn another_certificate_is_named_beside_the_expected_one() {
    let identity = Identity::generate().unwrap();
    let (_server, peer) = server(&identity, &[b"test"]);
    let expected = Fingerprint::of(b"another");
    let error = dialer(Trust::Pinned(expected)).dial(&peer).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&expected.to_string()) && text.contains(&identity.fingerprint().to_string()), "{text}");
    assert_eq!(error.failure(), Failure::Error);
}

#[tokio::test]
async fn an_authority_in_a_file_is_believed() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (certificate, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let (_server, peer) = server(&Identity::load(&certificate, &key).unwrap(), &[b"test"]);
    dialer(Trust::Authorities(certificate)).dial(&peer).await.unwrap();
}

#[tokio::test]
async fn an_unknown_authority_is_refused_with_the_way_out() {
    let identity = Identity::generate().unwrap();
    let (_server, peer) = server(&identity, &[b"test"]);
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other.pem");
    std::fs::write(&other, rcgen::generate_simple_self_signed(vec!["other".to_owned()]).unwrap().cert.pem()).unwrap();
    let error = dialer(Trust::Authorities(other)).dial(&peer).await.unwrap_err();
    assert!(matches!(error, DialError::Untrusted { .. }), "{error}");
    let (error, shown) = (error.to_string(), identity.fingerprint().to_string());
    assert!(error.contains("--ca FILE") && !error.contains(shown.trim_start_matches("sha256=")), "{error}");
}

#[tokio::test]
async fn a_port_where_nobody_listens_refuses_at_once() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    let error = dialer(Trust::System).dial(&local(port)).await.unwrap_err();
    assert!(matches!(error, DialError::Refused { .. }), "{error}");
    assert!(error.to_string().starts_with(&format!("127.0.0.1:{port} refused")), "{error}: the address once");
    assert_eq!(error.failure(), Failure::Unreachable);
    let named = Peer { host: "localhost".to_owned(), port };
    assert_eq!(at(&named, ([127, 0, 0, 1], port).into()), format!("localhost:{port} (127.0.0.1:{port})"));
}

#[tokio::test]
async fn a_silent_host_is_given_up_after_the_time_out() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let peer = local(silent.local_addr().unwrap().port());
    let dialer = Dialer { timeout: Duration::from_millis(600), ..dialer(Trust::System) };
    let error = dialer.dial(&peer).await.unwrap_err();
    assert!(matches!(error, DialError::NoAnswer { .. }), "{error}");
}

#[tokio::test]
async fn an_unknown_host_is_named() {
    let peer = Peer { host: "no-such-host.invalid".to_owned(), port: 1 };
    let error = dialer(Trust::System).dial(&peer).await.unwrap_err();
    assert!(matches!(error, DialError::UnknownHost { .. }), "{error}");
    assert!(error.to_string().contains("`no-such-host.invalid`"), "{error}");
}

#[tokio::test]
async fn a_server_of_another_protocol_is_named() {
    let identity = Identity::generate().unwrap();
    let (_server, peer) = server(&identity, &[b"other"]);
    let error = dialer(Trust::Pinned(identity.fingerprint())).dial(&peer).await.unwrap_err();
    assert!(matches!(error, DialError::WrongProtocol { .. }), "{error}");
    assert!(error.to_string().contains("does not speak test"), "{error}");
}
