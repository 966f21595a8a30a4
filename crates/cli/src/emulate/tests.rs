use super::*;
use crate::exit::{Failure, failure_of};
use pcc_link::Path;

#[tokio::test]
async fn an_address_that_is_none_is_named_with_the_way_to_write_it() {
    for wrong in ["4433", "localhost", "127.0.0.1:99999", ""] {
        let error = resolve("--to", wrong).await.unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains(&format!("--to {wrong}")) && text.contains("write HOST:PORT"), "{text}");
        assert_eq!(failure_of(&error), Failure::Usage);
    }
    assert_eq!(resolve("--to", "127.0.0.1:80").await.unwrap(), ([127, 0, 0, 1], 80).into());
}

/// The command line, as clap sees it.
#[derive(clap::Parser, Debug)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn parse(line: &str) -> Result<Args, String> {
    let words = core::iter::once("emulate").chain(line.split_whitespace());
    <Line as clap::Parser>::try_parse_from(words).map(|line| line.args).map_err(|error| error.to_string())
}

#[test]
fn the_command_line_takes_what_the_help_shows() {
    assert!(parse("--list").is_ok());
    let args = parse("--link satellite,loss=2% --to localhost:1 --time-limit 90s --sessions 3 --json").unwrap();
    assert_eq!(args.link.given(), Some(&"satellite,loss=2%".parse::<Path>().unwrap()));
    let positional = parse("satellite,loss=2% --to localhost:1").unwrap();
    assert_eq!(positional.link.given(), args.link.given());
    assert!(parse("satellite --link satellite --to localhost:1").unwrap_err().contains("cannot be used"));
    assert_eq!((args.time_limit, args.sessions), (Some(Duration::from_secs(90)), 3));
}

#[test]
fn a_port_alone_listens_on_the_loopback_interface() {
    let listen = |line: &str| super::on_this_computer(&parse(line).unwrap().listen);
    assert_eq!(listen("--link lossy --listen 4444 --to a:1"), "127.0.0.1:4444");
    assert_eq!(listen("--link lossy -l 0.0.0.0:4444 --to a:1"), "0.0.0.0:4444");
    assert_eq!(listen("--link lossy --to a:1"), "127.0.0.1:0");
}

#[test]
fn impossible_paths_are_refused_on_the_command_line() {
    for (wrong, told) in [
        ("--to a:1", "--link"),
        ("--link satellite", "--to"),
        ("--link rate=42 --to a:1", "`rate=42`: `42` has no unit"),
        ("--link satelite --to a:1", "there are satellite, lossy"),
        ("--link rate=1Mbit,loss=150% --to a:1", "is not between 0 and 100 %"),
        ("--link rate=1Mbit,rtt=-1ms --to a:1", "is negative"),
        ("--link rate=1Mbit,buffer=10 --to a:1", "at least one packet"),
        ("--link satellite --to a:1 --sessions 0", "--sessions"),
        ("--link satellite --to a:1 --time-limit soon", "--time-limit"),
    ] {
        let error = parse(wrong).expect_err(wrong);
        assert!(error.contains(told), "{wrong}: {error}");
    }
}

#[test]
fn json_lines_carry_what_scripts_need() {
    let server = std::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let path: Path = "satellite".parse().unwrap();
    let options = Options::new(path, server.local_addr().unwrap());
    let handle = relay(options.clone()).unwrap();
    let line = text::listening(&handle, &options);
    assert_eq!(line["listen"], handle.addr().to_string());
    assert_eq!(line["link"], "rate=42Mbit,rtt=800ms,buffer=7.5KB,loss=0.74%");
    server.send_to(&[0; 100], handle.addr()).unwrap();
    while handle.report().up.link.sent.packets == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let line = text::end(&handle.stop());
    assert_eq!(line["up"]["received"]["packets"], 1);
    for pointer in ["/up/dropped/buffer/packets", "/down/dropped/random/bytes", "/late_us/p99", "/up/in_transit/bytes"]
    {
        assert!(line.pointer(pointer).is_some_and(serde_json::Value::is_number), "{pointer}: {line}");
    }
}

/// The names of all fields, at any depth.
fn names(value: &serde_json::Value, into: &mut Vec<String>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        into.push(name.clone());
        names(inner, into);
    }
}

#[test]
fn every_field_is_documented() {
    let options = Options::new("satellite".parse().unwrap(), ([127, 0, 0, 1], 9).into());
    let handle = relay(options.clone()).unwrap();
    let mut fields = Vec::new();
    names(&text::listening(&handle, &options), &mut fields);
    names(&text::interval(&handle.stop()), &mut fields);
    let mut list = Vec::new();
    text::list_json(&mut list).unwrap();
    for line in String::from_utf8(list).unwrap().lines() {
        names(&serde_json::from_str(line).unwrap(), &mut fields);
    }
    let docs = include_str!("../../../../docs/json.md");
    let section = docs.split("\n## ").find(|section| section.starts_with("`pcc emulate")).unwrap();
    for field in fields {
        let documented = [format!("`{field}`"), format!("\"{field}\"")].iter().any(|name| section.contains(name));
        assert!(documented, "{field} is not in docs/json.md");
    }
}
