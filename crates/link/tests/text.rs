//! Paths as people write them, and what they are told when they write them wrong.

use pcc_link::{KEYS, Loss, Path, preset, presets};

fn read(text: &str) -> Path {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_path_is_written_in_the_order_and_units_people_use() {
    for text in [
        "rate=42Mbit,rtt=800ms,buffer=7.5KB,loss=0.74%",
        "rate=56kbit,rtt=200ms,buffer=16KB",
        "up.rate=1Mbit,down.rate=16Mbit,rtt=40ms,buffer=64KB",
        "rate=1.5Gbit,up.delay=10ms,down.delay=20ms,buffer=1MB,loss=ge/0.1%/25%/0%/100%",
        "rate=100Mbit,rtt=30ms,buffer=375KB,jitter=5ms:reorder,reorder=1%:5ms,duplicate=0.1%",
        "rate=100Mbit,rtt=30ms,buffer=375KB,blackout=10s/2s,blackout=20s/1s/30s",
        "rate=100Mbit,rtt=30ms,buffer=375KB,at=10s:rate=5Mbit:loss=2%,vary=5s:loss=0%..1%:walk=30%",
        "rate=100Mbit,rtt=30ms,buffer=375KB,up.at=10s:rate=5Mbit",
        "rate=10Mbit,rtt=2ms,buffer=312KB,wifi=7ms,at=1s:rate=2Mbit:wifi=12ms",
        "rate=50Mbit,rtt=40ms,buffer=1MB,queue=pie",
        "rate=50Mbit,rtt=40ms,buffer=1MB,down.queue=dualpi2,loss=1%",
    ] {
        assert_eq!(read(text).to_string(), text);
    }
}

#[test]
fn what_is_left_out_has_a_sensible_value() {
    let path = read("rate=80Mbit,rtt=100ms");
    assert_eq!(path.up.conditions.buffer.get(), 1_000_000, "one bandwidth-delay product");
    assert_eq!(read("rate=56kbit,rtt=1ms").up.conditions.buffer.get(), 15_000, "ten packets");
    assert_eq!((path.up.conditions.loss, path.up.conditions.duplicate), (Loss::NONE, 0.0));
    assert_eq!(path.up, path.down);
}

#[test]
fn a_buffer_is_bytes_or_a_time_or_products_of_rate_and_rtt() {
    for (text, up, down) in [
        ("rate=80Mbit,rtt=100ms,buffer=1bdp", 1_000_000, 1_000_000),
        ("buffer=0.5bdp,rate=80Mbit,rtt=100ms", 500_000, 500_000),
        ("rate=80Mbit,rtt=100ms,buffer=20ms", 200_000, 200_000),
        ("up.rate=8Mbit,down.rate=80Mbit,rtt=100ms,buffer=1bdp,up.buffer=30KB", 30_000, 1_000_000),
        ("satellite,buffer=2bdp", 8_400_000, 8_400_000),
    ] {
        let path = read(text);
        assert_eq!((path.up.conditions.buffer.get(), path.down.conditions.buffer.get()), (up, down), "{text}");
        assert_eq!(read(&path.to_string()), path, "{text}");
    }
    // A change's buffer goes by its own rate and RTT, where it sets them.
    let changed = |text: &str| read(&format!("rate=80Mbit,rtt=100ms,at=1s:{text}")).up;
    assert_eq!(changed("buffer=1bdp"), changed("buffer=1MB"));
    assert_eq!(changed("buffer=1bdp:rate=8Mbit"), changed("rate=8Mbit:buffer=100KB"));
    assert_eq!(changed("rtt=10ms:buffer=2bdp"), changed("rtt=10ms:buffer=200KB"));
    assert_eq!(changed("rate=8Mbit:buffer=20ms"), changed("rate=8Mbit:buffer=20KB"));
}

#[test]
fn a_preset_can_be_varied() {
    let path = read("satellite,loss=2%,up.buffer=1MB");
    let satellite = preset("satellite").unwrap().path();
    assert_eq!(path.down.conditions.loss, Loss::Bernoulli(0.02));
    assert_eq!(path.down.conditions.rate, satellite.down.conditions.rate);
    assert_eq!((path.up.conditions.buffer.get(), path.down.conditions.buffer.get()), (1_000_000, 7500));
}

#[test]
fn bursts_are_written_as_mean_loss_and_length() {
    let path = read("rate=1Mbit,rtt=10ms,loss=2%,burst=8");
    assert!((path.up.conditions.loss.mean() - 0.02).abs() < 1e-12);
    assert_eq!(Some(path.up.conditions.loss), Loss::in_bursts(0.02, 8.0));
}

#[test]
fn every_preset_reads_back_from_its_text() {
    for preset in presets() {
        assert_eq!(read(&preset.path().to_string()), preset.path(), "{}", preset.name);
    }
}

#[test]
fn every_parameter_has_an_example_that_works() {
    for (key, example, _) in KEYS {
        // A recording needs its file: tests/replay.rs.
        if key == "trace" {
            continue;
        }
        let path = format!("satellite,{example}");
        assert!(
            read(&path) != read("satellite") || example.starts_with("rate=42Mbit") || SATELLITE.contains(&example),
            "{key}: {example} changes nothing"
        );
    }
}

/// Examples that describe the satellite path itself.
const SATELLITE: [&str; 3] = ["rtt=800ms", "loss=0.74%", "buffer=7.5KB"];

#[test]
fn any_share_is_written_as_a_percentage_and_read_back() {
    assert_eq!("rate=1Mbit,loss=0".parse::<Path>(), "rate=1Mbit,loss=0%".parse::<Path>());
    for nth in 1..5000 {
        let share = 1.0 / f64::from(nth).powf(1.7);
        let mut path: Path = "rate=1Mbit,rtt=10ms".parse().unwrap();
        path.up.conditions.loss = pcc_link::Loss::Bernoulli(share);
        let text = path.to_string();
        assert_eq!(text.parse::<Path>().as_ref(), Ok(&path), "{text}");
    }
}

#[test]
fn a_wrong_path_is_refused_with_key_value_and_an_example() {
    for (wrong, told) in [
        ("rate=42", "`rate=42`: `42` has no unit"),
        ("rate=42Mbit,rtt=800", "`rtt=800`: `800` has no unit"),
        ("rate=42Mbit,rtt=-5ms", "`rtt=-5ms`: `-5ms` is negative"),
        ("rate=42Mbit,rtt=5parsec", "unknown unit"),
        ("rate=42Mbit,rtt=2h", "unknown unit"),
        ("rate=42Mbit,rtt=9000s", "`up.delay=4500s`: no path takes more than an hour"),
        ("rate=42Mbit,loss=150%", "`loss=150%`: `150%` is not between 0 and 100 %; write it like loss=0.74%"),
        ("rate=42Mbit,loss=0.5", "`loss=0.5`: `0.5` has no unit: write `0.5%`, or `50%`"),
        ("rate=42Mbit,loss=ge/0.1/25%/0/100%", "`0.1` has no unit"),
        ("rate=42Mbit,reorder=0.1:5ms", "`0.1` has no unit"),
        ("rate=42Mbit,duplicate=1", "`1` has no unit"),
        ("rate=42Mbit,vary=5s:loss=0..0.01", "`0.01` has no unit"),
        ("rate=42Mbit,vary=5s:loss=0%..1%:walk=0.3", "`0.3` has no unit"),
        ("rate=42Mbit,at=5s:loss=0.02", "`0.02` has no unit"),
        ("rate=42Mbit,loss=1e%", "`1e` is not a number"),
        ("rate=42Mbit,loss=-1%", "`-1%` is not between"),
        ("rate=42Mbit,loss=NaN", "`NaN` is not a number"),
        ("rate=42Mbit,loss=ge/1%/2%", "four probabilities"),
        ("rate=42Mbit,loss=1%,burst=0.5", "`up.burst=0.5`: no bursts of that length"),
        ("rate=42Mbit,loss=ge/1%/2%/0%/1%,burst=3", "its own bursts"),
        ("rate=42Mbit,buffer=1KB", "`up.buffer=1.00 kB`: a buffer holds at least one packet"),
        ("rate=42Mbit,down.buffer=10", "`down.buffer=10 B`: a buffer holds at least one packet"),
        ("rate=42Mbit,buffer=0bdp", "`0bdp` is no room; write it like buffer=7.5KB"),
        ("rate=42Mbit,rtt=1ms,buffer=0.1bdp", "a buffer holds at least one packet"),
        ("rate=42Mbit,buffer=10us", "a buffer holds at least one packet"),
        ("rate=42Mbit,wifi=500us", "`up.wifi=500µs`: the model's mean delay lies between 1 and 91 ms"),
        ("rate=42Mbit,wifi=100ms", "between 1 and 91 ms"),
        ("rate=1bit,rtt=1ms", "`up.rate=1 bit/s`: a link moves between"),
        ("rate=42Mbit,queue=hfsc", "there is no queue `hfsc`: choose from droptail, fq, codel"),
        ("rate=42Mbit,queue=pie,at=5s:buffer=1MB", "`up.queue=pie`: only droptail follows a buffer that changes"),
        ("rate=42Mbit,jitter=5ms:backwards", "`backwards` is not `reorder`"),
        ("rate=42Mbit,reorder=1%", "needs the length of the detour; write it like reorder=1%:5ms"),
        ("rate=42Mbit,duplicate=200%", "`200%` is not between"),
        ("rate=42Mbit,at=5s", "nothing changes; write it like at=10s:rate=5Mbit:loss=2%"),
        ("rate=42Mbit,at=5s:colour=red", "`colour` cannot change"),
        ("rate=42Mbit,at=5s:rate=1bit", "a link moves between"),
        ("rate=42Mbit,blackout=5s", "is not START/LENGTH"),
        ("rate=42Mbit,blackout=5s/0s", "it lasts longer than nothing"),
        ("rate=42Mbit,blackout=5s/2s/1s", "the light must come back"),
        ("rate=42Mbit,vary=5s:rate=9Mbit..1Mbit", "ends below its beginning"),
        ("rate=42Mbit,vary=5s:rate=9Mbit", "is not LOW..HIGH"),
        ("rate=42Mbit,vary=1us:loss=0%..1%", "the period is at least 1 ms"),
        ("rate=42Mbit,vary=5s:loss=0%..1%:walk=0%", "a walk's step"),
        ("rate=42Mbit,vary=5s:walk=10%", "nothing varies"),
        ("up.rate=42Mbit", "no `down.rate` is given; write down.rate=42Mbit"),
        ("loss=1%", "no `rate` is given; write rate=42Mbit"),
        ("up.rtt=5ms,rate=1Mbit", "both directions make one round trip"),
        ("los=1%,rate=1Mbit", "`los` is not a parameter; there are rate, rtt"),
        ("satelite", "`satelite` is neither KEY=VALUE (like rate=42Mbit"),
        ("rate=1Mbit,satellite", "a preset comes first"),
        ("", "`` is neither"),
    ] {
        match wrong.parse::<Path>() {
            Ok(path) => panic!("{wrong} was taken for {path}"),
            Err(error) => assert!(error.to_string().contains(told), "{wrong}: {error}\ndoes not say: {told}"),
        }
    }
}

#[test]
fn a_file_holds_a_path_and_what_differs_stands_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home.path");
    std::fs::write(folder.path().join("up.trace"), "1\n2\n").unwrap();
    std::fs::write(&file, "# recorded\nup.trace=up.trace # beside it\ndown.rate=5Mbit,rtt=40ms\n\nbuffer=30KB\n")
        .unwrap();
    let path = read(&format!("@{}", file.display()));
    assert_eq!((path.rtt().as_millis(), path.up.conditions.buffer.get()), (40, 30_000));
    assert_eq!(path.up.schedule.rules.len(), 1, "the trace is found beside the file, wherever this runs");
    let differs = read(&format!("@{},buffer=60KB,loss=1%", file.display()));
    assert_eq!((differs.up.conditions.buffer.get(), differs.up.conditions.loss), (60_000, Loss::Bernoulli(0.01)));
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_name() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let name = file.path().display().to_string();
    for (text, told) in [("satellite", "KEY=VALUE"), ("rate=fast", "fast"), ("rtt=40ms", "is given")] {
        std::fs::write(&file, text).unwrap();
        let error = format!("@{name}").parse::<Path>().unwrap_err().to_string();
        assert!(error.contains(told) && (error.contains(&name) || text == "rtt=40ms"), "{error}");
    }
    std::fs::write(&file, "#".repeat(70_000)).unwrap();
    assert!(format!("@{name}").parse::<Path>().unwrap_err().to_string().contains("larger than 64.0 kB"));
    assert!("@/no/such/file".parse::<Path>().unwrap_err().to_string().contains("/no/such/file"));
    assert!(format!("rate=1Mbit,@{name}").parse::<Path>().is_err(), "a file stands first");
}
