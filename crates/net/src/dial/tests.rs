use super::*;
use crate::tls::Identity;
use pcc_quic::transport::Windows;
use pcc_quic::{Algorithm, transport};
use std::collections::HashMap;
use tokio::net::UdpSocket;

fn dialer(trust: Trust) -> Dialer {
    let transport = Arc::new(transport::config(&Algorithm::Cubic, &Windows::default()));
    Dialer {
        alpn: &[b"test"],
        trust,
        transport: transport.into(),
        endpoint: EndpointConfig::default(),
        timeout: TIMEOUT,
        family: Family::Any,
        via: Vec::new(),
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

/// A NAT before that server, which forgets the first port that it hears of once it has passed a packet of it on: the answers
/// are lost, and what comes next from there has another address for the server.
async fn forgetful_nat(server: Peer) -> Peer {
    let inside = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let peer = local(inside.local_addr().unwrap().port());
    tokio::spawn(async move {
        let (mut first, mut bindings, mut buffer) = (None, HashMap::new(), [0; 2048]);
        loop {
            let (length, client) = inside.recv_from(&mut buffer).await.unwrap();
            let is_first = *first.get_or_insert(client) == client;
            if is_first || !bindings.contains_key(&client) {
                let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                socket.connect((server.host.as_str(), server.port)).await.unwrap();
                if !is_first {
                    tokio::spawn(answers(socket.clone(), inside.clone(), client));
                }
                bindings.insert(client, socket);
            }
            bindings[&client].send(&buffer[..length]).await.unwrap();
        }
    });
    peer
}

async fn answers(from: Arc<UdpSocket>, to: Arc<UdpSocket>, client: SocketAddr) {
    let mut buffer = [0; 2048];
    while let Ok(length) = from.recv(&mut buffer).await {
        to.send_to(&buffer[..length], client).await.unwrap();
    }
}

#[tokio::test]
async fn a_nat_that_forgets_the_port_in_the_handshake_is_got_through() {
    let identity = Identity::generate().unwrap();
    let (_server, peer) = server(&identity, &[b"test"]);
    let dialer = Dialer { timeout: Duration::from_secs(60), ..dialer(Trust::Pinned(identity.fingerprint())) };
    dialer.dial(&forgetful_nat(peer).await).await.unwrap();
}

#[tokio::test]
async fn another_certificate_is_named_beside_the_expected_one() {
    let identity = Identity::generate().unwrap();
    let (_server, peer) = server(&identity, &[b"test"]);
    let expected = Fingerprint::of(b"another");
    let error = dialer(Trust::Pinned(expected)).dial(&peer).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&expected.to_string()) && text.contains(&identity.fingerprint().to_string()), "{text}");
    assert!(!error.is_unreachable());
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
    assert!(error.contains("openssl x509 -in") && !error.contains(shown.trim_start_matches("sha256=")), "{error}");
    assert!(!error.contains("--ca FILE"), "it was given: {error}");
}

/// A server with a certificate as `openssl req -x509` makes them, and the file that it is in.
fn self_signed(change: impl FnOnce(&mut rcgen::CertificateParams)) -> (Endpoint, Peer, Trust, tempfile::TempDir) {
    let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    change(&mut params);
    let key = rcgen::KeyPair::generate().unwrap();
    let made = params.self_signed(&key).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let files = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
    std::fs::write(&files[0], made.pem()).unwrap();
    std::fs::write(&files[1], key.serialize_pem()).unwrap();
    let (endpoint, peer) = server(&Identity::load(&files[0], &files[1]).unwrap(), &[b"test"]);
    (endpoint, peer, Trust::Authorities(files[0].clone()), dir)
}

#[tokio::test]
async fn a_self_signed_certificate_that_is_named_is_trusted() {
    let (_server, peer, trust, _files) = self_signed(|_| {});
    dialer(trust).dial(&peer).await.unwrap();
}

#[tokio::test]
async fn its_dates_and_its_names_must_be_right_all_the_same() {
    let refused = async |change: fn(&mut rcgen::CertificateParams), words: &str| {
        let (_server, peer, trust, _files) = self_signed(change);
        let error = dialer(trust).dial(&peer).await.unwrap_err();
        assert!(matches!(error, DialError::Untrusted { .. }) && error.to_string().contains(words), "{error}");
    };
    refused(|params| params.not_after = rcgen::date_time_ymd(2001, 1, 1), "it has expired").await;
    let other = |params: &mut rcgen::CertificateParams| {
        params.subject_alt_names = vec![rcgen::SanType::DnsName("other.example".try_into().unwrap())];
    };
    refused(other, "it does not name 127.0.0.1 but other.example").await;
}

#[tokio::test]
async fn another_self_signed_certificate_than_the_named_is_refused() {
    let (_server, peer, ..) = self_signed(|_| {});
    let (_other, _, trust, _files) = self_signed(|_| {});
    let error = dialer(trust).dial(&peer).await.unwrap_err();
    assert!(matches!(error, DialError::Untrusted { .. }), "{error}");
}

#[tokio::test]
async fn a_port_where_nobody_listens_refuses_at_once() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    let error = dialer(Trust::System).dial(&local(port)).await.unwrap_err();
    assert!(matches!(error, DialError::Refused { .. }), "{error}");
    assert!(error.to_string().starts_with(&format!("127.0.0.1:{port} refused")), "{error}: the address once");
    assert!(error.is_unreachable());
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

/// The loopback interface, as though it were two.
#[cfg(target_os = "linux")]
fn two_networks(trust: Trust) -> Dialer {
    let lo: Interface = "lo".parse().unwrap();
    Dialer { via: vec![lo.clone(), lo], ..dialer(trust) }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn by_two_interfaces_a_connection_has_two_paths() {
    let identity = Identity::generate().unwrap();
    let (server, peer) = server(&identity, &[b"test"]);
    let mut config = noq::ServerConfig::with_crypto(Arc::new(tls::server(&identity, &[b"test"]).unwrap()));
    let mut transport = transport::config(&Algorithm::Cubic, &Windows::default());
    transport::allow_paths(&mut transport);
    server.set_server_config(Some(config.transport_config(Arc::new(transport)).clone()));
    let dialed = two_networks(Trust::Pinned(identity.fingerprint())).dial(&peer).await.unwrap();
    assert!(!dialed.warning.unwrap_or_default().contains("network"));
    let second = noq::PathId::from(1u8);
    let is_heard = || dialed.connection.path_stats(second).is_some_and(|path| path.udp_rx.datagrams > 0);
    let heard = async {
        while !is_heard() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), heard).await.expect("the second path carries something");
    let by = |path| dialed.connection.path(path).and_then(|path| path.local_ip().ok()).flatten();
    let interface = |number| Some(pcc_quic::interfaces::local_ip(number, ([127, 0, 0, 1], peer.port).into()));
    assert_eq!([by(noq::PathId::ZERO), by(second)], [interface(0), interface(1)]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_of_one_path_is_used_and_told_of() {
    let identity = Identity::generate().unwrap();
    let (_server, peer) = server(&identity, &[b"test"]);
    let dialed = two_networks(Trust::Pinned(identity.fingerprint())).dial(&peer).await.unwrap();
    let warning = dialed.warning.unwrap();
    assert!(warning.contains("one network at a time") && warning.contains("lo is used"), "{warning}");
}

#[cfg(target_os = "linux")]
#[test]
fn interfaces_without_an_address_may_get_one() {
    let v6 = std::net::SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 1));
    let named: Interface = "lo".parse().unwrap();
    let source = LocalError::NoInterface(named.to_string(), v6.ip());
    let error = DialError::Local { peer: local(1), source };
    assert!(error.may_pass() && error.is_unreachable(), "{error}");
    assert!(crate::with_causes(&error).contains("the interfaces lo has an address"), "{}", crate::with_causes(&error));
}
