//! The figures as text.

use super::{Intervals, Latest, Metrics, Refusal};
use core::sync::atomic::Ordering::Relaxed;
use pcc_report::prometheus::Exposition;

const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

impl Metrics {
    /// In Prometheus's text format.
    pub(super) fn page(&self) -> String {
        let mut page = Exposition::new("pcc_serve_");
        self.connections(&mut page);
        let mut requests = page.family("requests_total", "counter", "Requests that are done, by status");
        for (class, count) in CLASSES.iter().zip(&self.0.requests) {
            requests.sample(&[("status", class)], count.load(Relaxed));
        }
        let mut refusals = page.family("refusals_total", "counter", "Connections and requests refused, by reason");
        for ((_, reason), count) in Refusal::ALL.iter().zip(&self.0.refused) {
            refusals.sample(&[("reason", reason)], count.load(Relaxed));
        }
        self.intervals().write(&mut page);
        page.into_text()
    }

    fn connections(&self, page: &mut Exposition) {
        let (present, all) = {
            let book = self.book();
            (book.present.len(), book.traffic())
        };
        let accepted = self.0.accepted.load(Relaxed);
        page.family("connections", "gauge", "Connections that there are").sample(&[], present);
        for (name, help, value) in [
            ("connections_total", "Connections whose handshake came to its end", accepted),
            ("sent_bytes_total", "Bytes sent, as UDP payload", all.sent_bytes),
            ("received_bytes_total", "Bytes received, as UDP payload", all.received_bytes),
            ("sent_packets_total", "QUIC packets sent", all.sent_packets),
            ("lost_packets_total", "QUIC packets lost", all.lost_packets),
            ("tcp_connections_total", "Connections accepted over TCP", self.0.tcp_accepted.load(Relaxed)),
            ("tcp_sent_bytes_total", "Bytes of bodies sent over TCP", self.0.tcp_sent.load(Relaxed)),
        ] {
            page.family(name, "counter", help).sample(&[], value);
        }
    }
}

impl Intervals {
    fn write(&self, page: &mut Exposition) {
        let sum = |value: fn(&Latest) -> Option<f64>| self.latest.values().filter_map(value).sum::<f64>();
        for (name, help, value) in [
            ("senders", "Connections on which PCC has judged an interval", self.latest.len() as f64),
            ("rate_bits_per_second", "Rates of their latest intervals, summed", sum(|latest| Some(latest.rate))),
            ("utility", "Utilities of their latest judged intervals, summed", sum(|latest| latest.utility)),
        ] {
            page.family(name, "gauge", help).sample(&[], value);
        }
        self.rtt.write(page.family("rtt_seconds", "histogram", "Mean RTT of each monitor interval"));
        self.loss.write(page.family("loss_ratio", "histogram", "Share of each monitor interval's bytes that was lost"));
    }
}
