//! The cases of draft-huitema-ccwg-c4-test, with the limits of its authors' specifications.
//!
//! A download is done within the limit in the worst seed; in the cases beside another connection the limit counts from
//! the start of the one that is judged. A buffer is the longest queueing delay. While a link stands still packets wait
//! for it, so it has a rate that moves none instead of a black-out. The authors' links are 4.9 % slower than they say,
//! which is not imitated. Beside its own kind PCC stands for their algorithm.

use super::Row;
use super::measure::Measure::{FirstDone, FrameMean, FrameMost};
use super::table::row;

const P20: &str = "rate=20Mbit,rtt=80ms,buffer=80ms";
const P10: &str = "rate=10Mbit,rtt=70ms,buffer=80ms";
const BAD: &str = "rate=10Mbit,rtt=2ms,buffer=250ms,wifi=7ms";
const BLACK_HOLE: &str = "rate=25Mbit,rtt=70ms,buffer=250KB,at=2s:rate=1kbit,at=4s:rate=25Mbit";
const DROP: &str = "rate=10Mbit,rtt=100ms,buffer=80ms,at=1.5s:rate=5Mbit:buffer=80ms,at=3.5s:rate=10Mbit:buffer=80ms";
const LOW: &str = "rate=5Mbit,rtt=100ms,buffer=80ms,at=2.5s:rate=10Mbit:buffer=80ms";
const SHORT_LONG: &str = "rate=10Mbit,rtt=30ms,buffer=100ms,at=1s:rtt=200ms:buffer=200ms";
const FADE: &str = "rate=20Mbit,rtt=80ms,buffer=80ms,wifi=1ms,at=1s:rate=18Mbit:buffer=80ms:wifi=12ms,\
                    at=3s:rate=20Mbit:buffer=80ms:wifi=1ms";
const SUSPENSION: &str = "rate=20Mbit,rtt=10ms,buffer=50KB,at=1.8s:rate=1kbit,at=2s:rate=20Mbit,at=3.8s:rate=1kbit,\
                          at=4s:rate=20Mbit,at=5.8s:rate=1kbit,at=6s:rate=20Mbit";
const MEDIA_SHORT_LONG: &str = "rate=100Mbit,rtt=30ms,buffer=100ms,at=1s:rtt=100ms:buffer=200ms";
const MEDIA_FADE: &str = "rate=20Mbit,rtt=40ms,buffer=100ms,wifi=1ms,at=1s:rate=18Mbit:buffer=100ms:wifi=12ms,\
                          at=3s:rate=20Mbit:buffer=100ms:wifi=1ms";
const MEDIA_SUSPENSION: &str = "rate=20Mbit,rtt=10ms,buffer=250KB,at=1.8s:rate=1kbit,at=2s:rate=20Mbit,\
                                at=3.8s:rate=1kbit,at=4s:rate=20Mbit";

pub(super) const ROWS: &[Row] = &[
    done("alone", P20, "pcc:size=10MB", 5000.0),
    done("alone_200", "rate=200Mbit,rtt=40ms,buffer=80ms", "pcc:size=20MB", 1300.0),
    done("blackhole", BLACK_HOLE, "pcc:size=10MB", 6100.0),
    done("drop_and_back", DROP, "pcc:size=7MB", 8150.0),
    done("low_and_up", LOW, "pcc:size=7MB", 7900.0).today(8050.0),
    done("satellite", "rate=250Mbit,rtt=600ms,buffer=600ms", "pcc:size=100MB", 7400.0).today(7600.0),
    done("short_long", SHORT_LONG, "pcc:size=20MB", 22_000.0),
    done("after_c4", P20, "pcc:start=500ms:size=5MB pcc:size=10MB", 7650.0),
    done("before_c4", "rate=50Mbit,rtt=30ms,buffer=80ms", "pcc:size=10MB pcc:start=500ms:size=20MB", 4100.0),
    done("vs_c4", P20, "pcc:size=5MB pcc:size=10MB", 6700.0),
    done("vs_c4_lg", P20, "pcc:size=30MB pcc:size=20MB", 22_800.0),
    done("vs_c4_lg2", P10, "pcc:size=15MB pcc:start=1s:size=10MB", 22_100.0),
    done("vs_cubic", P20, "pcc:size=5MB cubic:size=10MB", 6800.0),
    done("vs_cubic_lg", P20, "pcc:size=30MB cubic:size=20MB", 21_900.0).today(22_010.0),
    done("vs_cubic_lg2", P10, "pcc:size=15MB cubic:start=1s:size=10MB", 22_000.0),
    done("vs_bbr", P20, "pcc:size=5MB bbr:size=10MB", 6700.0).today(9050.0),
    done("vs_bbr_lg", P20, "pcc:size=30MB bbr:size=20MB", 23_000.0).today(23_800.0),
    done("vs_bbr_lg2", P10, "pcc:size=15MB bbr:start=1s:size=10MB", 23_000.0),
    done("wifi_suspension", SUSPENSION, "pcc:size=10MB", 5400.0),
    done("wifi_bad", BAD, "pcc:size=4MB", 4300.0).today(4700.0),
    done("wifi_bad_c4", BAD, "pcc:start=1s:size=4MB pcc:size=10MB", 12_500.0),
    done("wifi_bad_cubic", BAD, "pcc:start=1s:size=4MB cubic:size=10MB", 11_100.0).today(14_500.0),
    done("wifi_bad_bbr", BAD, "pcc:start=1s:size=4MB bbr:size=10MB", 11_000.0).today(13_200.0),
    done("wifi_fade", FADE, "pcc:size=10MB", 6200.0),
    mean("media", "rate=100Mbit,rtt=30ms,buffer=100ms", 31.0),
    most("media", "rate=100Mbit,rtt=30ms,buffer=100ms", 79.0),
    mean("media10", "rate=10Mbit,rtt=40ms,buffer=100ms", 47.0),
    most("media10", "rate=10Mbit,rtt=40ms,buffer=100ms", 160.0),
    mean("media_600fr", "rate=100Mbit,rtt=30ms,buffer=100ms", 33.0).long([5, 20], [0, 20]),
    most("media_600fr", "rate=100Mbit,rtt=30ms,buffer=100ms", 80.0).long([5, 20], [0, 20]),
    row("36a", "media_short_long", MEDIA_SHORT_LONG, "media", FrameMean(5000), [110.0; 2])
        .most()
        .worst()
        .long([10, 10], [1, 20]),
    row("36a", "media_short_long", MEDIA_SHORT_LONG, "media", FrameMost(5000), [120.0; 2])
        .most()
        .worst()
        .long([10, 10], [1, 20])
        .today(170.0),
    mean("media_wb", "rate=20Mbit,rtt=2ms,buffer=100ms,wifi=7ms", 105.0).today(300.0),
    most("media_wb", "rate=20Mbit,rtt=2ms,buffer=100ms,wifi=7ms", 410.0).today(1650.0),
    mean("media_wf", MEDIA_FADE, 110.0),
    most("media_wf", MEDIA_FADE, 350.0),
    mean("media_ws", MEDIA_SUSPENSION, 23.6),
    most("media_ws", MEDIA_SUSPENSION, 202.0).today(210.0),
];

/// A download, in ms.
const fn done(case: &'static str, path: &'static str, flows: &'static str, limit: f64) -> Row {
    row("36", case, path, flows, FirstDone, [limit; 2]).most().worst().long([60, 60], [2, 20])
}

/// A call of five seconds, whose first 200 ms do not count.
const fn mean(case: &'static str, path: &'static str, limit: f64) -> Row {
    row("36a", case, path, "media", FrameMean(200), [limit; 2]).most().worst().long([5, 5], [3, 20])
}

const fn most(case: &'static str, path: &'static str, limit: f64) -> Row {
    row("36a", case, path, "media", FrameMost(200), [limit; 2]).most().worst().long([5, 5], [3, 20])
}
