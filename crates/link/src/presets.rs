//! Paths with names.

use crate::path::Path;

/// A path with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name by which users select it.
    pub name: &'static str,
    /// Its description, in a few words.
    pub about: &'static str,
    /// The text from which [`Path`] reads it.
    pub parameters: &'static str,
    /// Where the parameters come from.
    pub source: &'static str,
}

impl Preset {
    /// The path.
    pub fn path(&self) -> Path {
        self.parameters.parse().expect("a test parses every preset")
    }
}

/// All presets, the papers' paths first.
pub const fn presets() -> &'static [Preset] {
    &PRESETS
}

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

const PRESETS: [Preset; 14] = [
    Preset {
        name: "satellite",
        about: "geostationary satellite with a tiny buffer",
        parameters: "rate=42Mbit,rtt=800ms,loss=0.74%,buffer=7.5KB",
        source: "PCC (NSDI 2015) §4.1.3, the WINDS satellite: rate, RTT and loss as published; of the buffers of Figure 6 \
                 (1.5 KB to 1 MB) the five packets with which PCC is said to reach 90 %. The paper does not say in \
                 which direction packets are lost: here in both",
    },
    Preset {
        name: "lossy",
        about: "random loss of 1 % both ways",
        parameters: "rate=100Mbit,rtt=30ms,loss=1%,buffer=375KB",
        source: "PCC (NSDI 2015) §4.1.4, the point at 1 % of Figure 7, loss in both directions as there; the buffer, \
                 which the paper does not state, is one bandwidth-delay product",
    },
    Preset {
        name: "shallow",
        about: "a buffer of six packets",
        parameters: "rate=100Mbit,rtt=30ms,buffer=9KB",
        source: "PCC (NSDI 2015) §4.1.6, the point of Figure 9 at which PCC is said to reach 90 %",
    },
    Preset {
        name: "changing",
        about: "rate, RTT and loss drawn anew every 5 s",
        parameters: "rate=100Mbit,rtt=100ms,buffer=375KB,\
                     vary=5s:rate=10Mbit..100Mbit:rtt=10ms..100ms:loss=0%..1%",
        source: "PCC (NSDI 2015) §4.1.7; the buffer, which the paper does not state, is the bandwidth-delay product of \
                 the mean rate and the mean RTT",
    },
    Preset {
        name: "interdc",
        about: "between data centres: fast, with a small buffer",
        parameters: "rate=800Mbit,rtt=38ms,buffer=100KB",
        source: "PCC (NSDI 2015) §4.1.2, Table 1, the pair GPO to Wisconsin; the buffer (`small` there) is our choice",
    },
    Preset {
        name: "datacentre",
        about: "inside a data centre, the path of incast",
        parameters: "rate=1Gbit,rtt=100us,buffer=64KB",
        source: "PCC (NSDI 2015) §4.1.8 for the scenario; the paper states neither rate nor buffer: a gigabit switch \
                 port with its share of a shared packet memory, our choice",
    },
    Preset {
        name: "clean",
        about: "nothing wrong with it: for comparison",
        parameters: "rate=100Mbit,rtt=30ms,buffer=375KB",
        source: "PCC (NSDI 2015) §4.2.1: the dumbbell of the fairness experiments, buffer of one bandwidth-delay \
                 product",
    },
    Preset {
        name: "blackout",
        about: "dark for 2 s, every 20 s",
        parameters: "rate=100Mbit,rtt=30ms,buffer=375KB,blackout=10s/2s/20s",
        source: "our choice: a handover or a tunnel",
    },
    Preset {
        name: "transatlantic",
        about: "long, fast, a little lossy",
        parameters: "rate=200Mbit,rtt=80ms,loss=0.05%,buffer=500KB",
        source: "our choice: light needs 55 ms from New York to London and back in a straight fibre, real routes 70 to \
                 80; a quarter of a bandwidth-delay product of buffer",
    },
    Preset {
        name: "lte",
        about: "mobile phone: wandering rate, deep buffer",
        parameters: "rate=20Mbit,rtt=60ms,jitter=4ms,buffer=1MB,vary=200ms:rate=2Mbit..40Mbit:walk=30%",
        source: "our choice, after the observation of Sprout (NSDI 2013) that the rate of a cellular link wanders over \
                 a wide range within seconds behind a buffer that hides all loss",
    },
    Preset {
        name: "wifi",
        about: "home network: jitter and bursts of loss",
        parameters: "rate=60Mbit,rtt=12ms,jitter=5ms,loss=0.3%,burst=6,buffer=256KB,\
                     vary=500ms:rate=20Mbit..90Mbit:walk=20%",
        source: "our choice: 802.11 hides most loss behind retransmission (jitter), the rest comes in bursts",
    },
    Preset {
        name: "dsl",
        about: "ADSL2+: slow uplink, too much buffer",
        parameters: "rate=16Mbit,up.rate=1Mbit,rtt=40ms,buffer=256KB,up.buffer=64KB",
        source: "rates as sold on ITU-T G.992.5, which allows up to 24 and 1.4 Mbit/s; buffers are our choice: half a \
                 second of uplink",
    },
    Preset {
        name: "modem",
        about: "telephone modem",
        parameters: "rate=56kbit,up.rate=33.6kbit,rtt=200ms,buffer=16KB",
        source: "ITU-T V.90: 56 kbit/s down, 33.6 kbit/s up; RTT and buffer are our choice",
    },
    Preset {
        name: "reordering",
        about: "one packet in a hundred is overtaken",
        parameters: "rate=100Mbit,rtt=30ms,buffer=375KB,reorder=1%:5ms",
        source: "our choice: two parallel paths, one of them 5 ms longer",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_preset_is_a_possible_path_with_a_name_of_its_own() {
        let mut names = HashSet::new();
        for each in presets() {
            let path = each.parameters.parse::<Path>().unwrap_or_else(|error| panic!("{}: {error}", each.name));
            assert!(path.links(1).is_ok(), "{}", each.name);
            assert!(names.insert(each.name) && preset(each.name) == Some(each), "{}", each.name);
            assert!(!each.source.is_empty() && !each.about.is_empty());
        }
    }
}
