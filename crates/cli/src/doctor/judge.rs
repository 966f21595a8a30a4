//! The meaning of what was measured, and the remedy.

use core::time::Duration;
use pcc::units::Rate;
use pcc_net::examine::{Answers, Examined};
use pcc_quic::transport::Windows;
use pcc_report::finding::Finding;

/// A computer that wakes up later sends bursts where packets should be apart.
const LATE: Duration = Duration::from_millis(1);

/// Ethernet's packets. Unit: bytes.
const USUAL_MTU: usize = 1500;

/// All of it, the path first.
pub(super) fn findings(examined: &Examined) -> Vec<Finding> {
    let mut findings = vec![udp(examined)];
    if let [least, .., most] = examined.answers.round_trips.as_slice() {
        findings.push(round_trip(&examined.answers.round_trips, *least, *most));
        findings.push(size(&examined.answers));
        findings.extend(http3(examined));
        findings.push(ecn(examined));
    }
    findings.extend([buffers(examined), timers(examined), offload(examined)]);
    findings.extend(limit(examined));
    findings
}

fn udp(examined: &Examined) -> Finding {
    const WHAT: &str = "UDP";
    let Answers { plain, marked, refused, round_trips, .. } = &examined.answers;
    let (sent, answered) = (plain.0 + marked.0, plain.1 + marked.1);
    let (address, port) = (examined.address, examined.address.port());
    if !round_trips.is_empty() {
        let found = format!("{address} answers, {answered} of {sent} packets");
        // Packets with marks are judged below.
        return if plain.0 == plain.1 {
            Finding::good(WHAT, found)
        } else {
            Finding::note(WHAT, found, "packets are lost, there or back; PCC bears random loss")
        };
    }
    if *refused {
        return Finding::missing(
            WHAT,
            format!("{address} says that nothing listens on this UDP port"),
            "start `pcc serve` there, or name its port: pcc doctor HOST:PORT",
        );
    }
    match examined.tcp {
        Some(true) => Finding::missing(
            WHAT,
            format!("{address} answers by TCP and not by UDP: a firewall blocks UDP, or no QUIC server listens"),
            format!(
                "let it in there: sudo ufw allow {port}/udp. Where that cannot be: pcc get --over-ssh HOST:PATH, or TCP with PCC in \
                 the kernel (pcc kernel)"
            ),
        ),
        _ => Finding::missing(
            WHAT,
            format!("{address} answers neither by UDP nor by TCP"),
            "is it up, is this its address, and does this network let UDP out? Where ssh gets there: pcc get --over-ssh HOST:PATH",
        ),
    }
}

fn round_trip(all: &[Duration], least: Duration, most: Duration) -> Finding {
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let median = all[all.len() / 2];
    Finding::good("round trip", format!("{} at best, {} at the median, {} at most", ms(least), ms(median), ms(most)))
}

fn size(answers: &Answers) -> Finding {
    const WHAT: &str = "packet size";
    match answers.mtu {
        Some(mtu) if mtu < USUAL_MTU.min(answers.largest_sent) => Finding::note(
            WHAT,
            format!("{mtu} bytes pass, larger packets that leave here do not"),
            "QUIC finds the size itself; TCP may stall",
        ),
        mtu => Finding::good(WHAT, format!("{} bytes pass", mtu.unwrap_or(0))),
    }
}

fn http3(examined: &Examined) -> Option<Finding> {
    const WHAT: &str = "HTTP/3";
    let connected = examined.connected.as_ref()?;
    Some(match (&connected.handshake, &connected.untrusted) {
        (Ok(took), None) => Finding::good(WHAT, format!("spoken; handshake in {:.1} ms", took.as_secs_f64() * 1e3)),
        (Ok(_), Some(why)) => Finding::note(
            WHAT,
            format!("spoken; certificate not trusted: {why}"),
            "use the URL with #sha256=… that `pcc serve` prints, or --ca",
        ),
        (Err(why), _) => {
            Finding::missing(WHAT, format!("no connection: {why}"), "is it the right port, and the right URL?")
        }
    })
}

fn ecn(examined: &Examined) -> Finding {
    const WHAT: &str = "ECN";
    let Answers { plain, marked, .. } = &examined.answers;
    if marked.1 == 0 && plain.1 > 0 {
        let remedy = "a router drops them; QUIC goes on without marks after some time-outs";
        return Finding::note(WHAT, "packets with marks get no answer, others do", remedy);
    }
    let Some(connected) = examined.connected.as_ref().filter(|connected| connected.handshake.is_ok()) else {
        return Finding::good(WHAT, "packets with marks pass");
    };
    // Acknowledgements have none, and are most of what comes.
    let (_, came_marked) = connected.marks.received();
    let back = if came_marked > 0 { "its own arrive" } else { "its own packets arrive without" };
    if connected.marks.are_reported() {
        Finding::good(WHAT, format!("the server reports our marks; {back}"))
    } else {
        let found = format!("packets with marks pass, and the server reports no marks; {back}");
        Finding::note(WHAT, found, "PCC watches delay instead")
    }
}

fn buffers(examined: &Examined) -> Finding {
    match &examined.buffers {
        None => Finding::good("UDP buffers", "4 MiB or more in each direction"),
        Some(warning) => {
            let (found, remedy) = warning.split_once(". ").unwrap_or((warning, ""));
            Finding::note("UDP buffers", found, remedy)
        }
    }
}

fn timers(examined: &Examined) -> Finding {
    let found = format!("this computer wakes up {} µs late at the median", examined.late.as_micros());
    if examined.late < LATE {
        Finding::good("timers", found)
    } else {
        Finding::note("timers", found, "packets leave in bursts: it is busy, or virtual and small")
    }
}

fn offload(examined: &Examined) -> Finding {
    let (send, receive) = examined.answers.offload;
    let found = format!("{send} packets a call to send (GSO), {receive} to receive (GRO)");
    if send > 1 {
        Finding::good("offload", found)
    } else {
        Finding::note("offload", found, "each packet is a system call: 1 Gbit/s costs half a core")
    }
}

/// The limit of a transfer if the path were none.
fn limit(examined: &Examined) -> Option<Finding> {
    let round_trips = &examined.answers.round_trips;
    let median = *round_trips.get(round_trips.len() / 2)?;
    let window = Windows::default().bytes().get() as f64;
    let rate = Rate::from_bytes_per_sec(window / median.as_secs_f64().max(1e-4));
    let first = if examined.buffers.is_some() {
        "small UDP buffers, above some 100 Mbit/s".to_owned()
    } else if examined.late >= LATE {
        "this computer, which is busy".to_owned()
    } else {
        format!("the path, or processors; windows allow {rate}")
    };
    Some(Finding::good("limit", format!("{first}; `pcc perf -c HOST` measures the path")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_net::examine::Outcome;
    use pcc_report::finding::Grade;
    use pcc_report::finding::page;
    use std::sync::Arc;

    fn healthy() -> Examined {
        Examined {
            peer: "https://host.example.org:4433/".parse::<pcc_net::url::Url>().unwrap().peer,
            address: "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:44333".parse().unwrap(),
            answers: Answers {
                round_trips: vec![Duration::from_millis(20); 20],
                plain: (10, 10),
                marked: (10, 10),
                mtu: Some(1500),
                largest_sent: 1500,
                refused: false,
                offload: (64, 64),
            },
            tcp: None,
            connected: None,
            buffers: None,
            late: Duration::from_micros(60),
        }
    }

    fn grades(examined: &Examined) -> Vec<(&'static str, Grade)> {
        let all = findings(examined);
        all.iter().filter(|one| one.grade != Grade::Good).map(|one| (one.what, one.grade)).collect()
    }

    #[test]
    fn each_ailment_is_found_alone() {
        assert_eq!(grades(&healthy()), []);
        let with = |change: fn(&mut Examined)| {
            let mut examined = healthy();
            change(&mut examined);
            grades(&examined)
        };
        assert_eq!(with(|one| one.answers.plain = (10, 8)), [("UDP", Grade::Note)]);
        assert_eq!(with(|one| one.answers.mtu = Some(1420)), [("packet size", Grade::Note)]);
        assert_eq!(with(|one| one.answers.marked = (10, 0)), [("ECN", Grade::Note)]);
        assert_eq!(with(|one| one.late = LATE), [("timers", Grade::Note)]);
        assert_eq!(with(|one| one.answers.offload = (1, 1)), [("offload", Grade::Note)]);
        assert_eq!(with(|one| one.buffers = Some("small. Raise them".into())), [("UDP buffers", Grade::Note)]);
    }

    #[test]
    fn blocked_udp_is_told_from_a_port_without_server() {
        let mut examined = Examined { tcp: Some(true), ..healthy() };
        examined.answers.round_trips.clear();
        // Lines may end between any two words.
        let told = |examined: &Examined| {
            let page = page(&findings(examined));
            page.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = told(&examined);
        assert!(text.contains("by TCP and not by UDP") && text.contains("--over-ssh"), "{text}");
        assert!(text.contains("ufw allow 44333/udp"), "{text}");
        examined.answers.refused = true;
        let text = told(&examined);
        assert!(text.contains("nothing listens") && !text.contains("ufw"), "{text}");
    }

    #[test]
    fn the_worst_of_all_fits_onto_one_screen() {
        let mut examined = healthy();
        examined.answers.plain = (10, 5);
        examined.answers.mtu = Some(1280);
        examined.answers.offload = (1, 1);
        examined.late = 20 * LATE;
        examined.buffers = pcc_quic::socket::bind("127.0.0.1:0".parse().unwrap()).unwrap().warning.or(Some(
            "UDP buffers are 208 KiB to receive and 208 KiB to send; packets may be dropped in this host above some 100 Mbit/s. \
             Raise the limit with: sudo sysctl -w net.core.rmem_max=8388608 net.core.wmem_max=8388608"
                .into(),
        ));
        examined.connected = Some(Outcome {
            handshake: Ok(Duration::from_millis(30)),
            untrusted: Some("no authority that this computer trusts has signed it".into()),
            marks: Arc::default(),
        });
        let text = page(&findings(&examined));
        assert!(text.lines().count() <= 24, "{} lines\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
