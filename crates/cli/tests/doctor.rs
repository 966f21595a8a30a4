//! `pcc doctor` before a server, before a silent port and before none; `pcc tunnel --json` before a server.

mod bench;

use bench::{Bench, Relay, said};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;

fn finding<'a>(document: &'a Value, what: &str) -> &'a Value {
    let findings = document["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["what"] == what).unwrap_or_else(|| panic!("{what}: {document}"))
}

#[test]
fn a_server_is_examined_through_its_path() {
    let bench = Bench::new();
    let server = bench.serve(&[]);
    let relay = Relay::start(&bench, "rate=50Mbit,rtt=40ms", &server);
    let looked = bench.run(&["doctor", &relay.url(&server, ""), "--json"]);
    let document = bench::last_json(&looked);
    assert!(looked.status.success(), "{}", said(&looked));
    assert!(document["reachable"] == true && document["rtt_ms"]["min"].as_f64().unwrap() >= 39.9, "{document}");
    assert!(document["mtu"].as_u64().unwrap() >= 1280, "{document}");
    assert_eq!(finding(&document, "HTTP/3")["grade"], "ok", "{document}");
    let page = bench.run(&["doctor", &relay.url(&server, "")]);
    let text = String::from_utf8(page.stdout).unwrap();
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn marks_that_come_back_are_told() {
    let bench = Bench::new();
    let server = bench.serve(&[]);
    let document = bench::last_json(&bench.run(&["doctor", &server.url(""), "--json"]));
    let ecn = finding(&document, "ECN");
    assert!(ecn["grade"] == "ok" && ecn["found"] == "the server reports our marks; its own arrive", "{ecn}");
}

#[test]
fn without_an_answer_it_says_whether_udp_is_to_blame() {
    let bench = Bench::new();
    // A firewall that lets TCP through, and no UDP.
    let (tcp, udp) = std::iter::repeat_with(|| TcpListener::bind("127.0.0.1:0").unwrap())
        .find_map(|tcp| Some((UdpSocket::bind(tcp.local_addr().unwrap()).ok()?, tcp)).map(|(udp, tcp)| (tcp, udp)))
        .unwrap();
    let silent = bench.run(&["doctor", &tcp.local_addr().unwrap().to_string()]);
    let text = said(&silent) + &String::from_utf8_lossy(&silent.stdout);
    assert!(silent.status.code() == Some(5) && text.contains("by TCP and not"), "{text}");
    assert!(text.contains("--over-ssh") && text.contains("ufw allow"), "{text}");
    let address = udp.local_addr().unwrap().to_string();
    drop((tcp, udp));
    let nobody = bench.run(&["doctor", &address, "--json"]);
    let document: Value = serde_json::from_slice(&nobody.stdout).unwrap();
    assert_eq!((nobody.status.code(), &document["reachable"]), (Some(5), &false.into()), "{document}");
    assert!(finding(&document, "UDP")["found"].as_str().unwrap().contains("nothing listens"), "{document}");
}

#[test]
fn programs_hear_what_happens_to_a_tunnel() {
    let bench = Bench::new();
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(bench.path("client/token"), "correct-horse").unwrap();
    let server = bench.serve(&["--tunnel", "--allow", "127.0.0.1:*", "--token-file", "token"]);
    let forward = format!("0:{}", target.local_addr().unwrap());
    let arguments = ["tunnel", "--json", "--token-file", "token", "-L", &forward, &server.url("")];
    let mut tunnel = bench::Ended(bench.pcc(&arguments).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(tunnel.0.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let listening = next();
    assert_eq!(
        (&listening["event"], &listening["target"]),
        (&"listening".into(), &target.local_addr().unwrap().to_string().into())
    );
    let mut near = TcpStream::connect(listening["address"].as_str().unwrap()).unwrap();
    near.write_all(b"hello").unwrap();
    near.shutdown(std::net::Shutdown::Write).unwrap();
    let (mut far, _) = target.accept().unwrap();
    let mut heard = String::new();
    far.read_to_string(&mut heard).unwrap();
    far.write_all(b"world!").unwrap();
    drop(far);
    near.read_to_string(&mut heard).unwrap();
    let (opened, closed) = (next(), next());
    assert_eq!((heard.as_str(), &opened["event"]), ("helloworld!", &"opened".into()));
    assert_eq!((&closed["event"], &closed["bytes"], &closed["from"]), (&"closed".into(), &11.into(), &opened["from"]));
}
