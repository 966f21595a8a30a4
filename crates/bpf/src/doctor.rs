//! Whether PCC can be loaded on this computer, what is missing, and what to do about it.

use crate::btf::Btf;
use crate::libbpf::{Loaded, Part};
use crate::load::STATE;
use crate::object::{Object, Source};
use crate::{libbpf, object, registration, rights, variant};
use pcc_report::finding::Finding;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// All looks at this computer, and at what would be loaded.
pub fn findings(source: &Source) -> Vec<Finding> {
    let mut findings = System { root: "/".into() }.findings();
    let library = libbpf::check();
    let has_library = library.is_ok();
    findings.push(match library {
        Ok(()) => Finding::good("libbpf", "libbpf.so.1"),
        Err(problem) => Finding::missing("libbpf", "not found", problem),
    });
    findings.push(match (source.file(), source.object()) {
        (Some(file), Ok(_)) => Finding::good("object", file.display().to_string()),
        (_, Ok(_)) => Finding::good("object", "built in"),
        (_, Err(problem)) => {
            let found = if object::is_built_in() || source.file().is_some() { "unreadable" } else { "not built in" };
            Finding::missing("object", found, problem.told())
        }
    });
    findings.push(replacement());
    if rights::may_load() && has_library {
        findings.extend(source.object().ok().map(|object| watching(&object)));
    }
    findings
}

/// How another version takes the place of one that is loaded.
fn replacement() -> Finding {
    const WHAT: &str = "replacement";
    const A_MOMENT_AFTER: &str = "another version is loaded a moment after the one before is unloaded; connections that begin meanwhile may have reno";
    let kernel = fs::read(variant::KERNEL_TYPES).ok().and_then(|types| Btf::read(types).ok());
    if !kernel.is_some_and(|kernel| registration::has_links(&kernel)) {
        return Finding::note(WHAT, A_MOMENT_AFTER, "in one step: Linux 6.4");
    }
    if !registration::can_pin() {
        return Finding::note(
            WHAT,
            A_MOMENT_AFTER,
            format!("in one step: mount -t bpf bpf {}, in the first mount namespace", registration::FILE_SYSTEM),
        );
    }
    Finding::good(WHAT, "another version takes the place of the one before in one step")
}

/// Whether `pcc kernel top` will see the connections: some hosts refuse it to everybody, which only trying tells.
fn watching(object: &Object) -> Finding {
    match Loaded::load(object, Part::Watch) {
        Ok(_) => Finding::good("watching", "pcc kernel top sees each connection"),
        Err(problem) => Finding::note("watching", "pcc kernel top will not work", problem.told()),
    }
}

/// A computer, as its files below /proc and /sys tell of it.
struct System {
    root: PathBuf,
}

impl System {
    fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.file(name)).ok().map(|text| text.trim().to_owned())
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = vec![self.version(), self.types()];
        findings.extend(self.configuration());
        findings.extend([
            self.compiler(),
            self.rights(),
            self.lockdown(),
            self.name(),
            self.room(),
            self.pacing(),
            self.groups(),
        ]);
        findings.push(Finding::good(
            "bursts",
            "1 ms each; where a bottleneck's buffer holds a few packets only, the module loses less: docs/kernel.md, As a \
             module",
        ));
        findings
    }

    fn version(&self) -> Finding {
        let release = self.read("proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
        let version = (numbers.next().and_then(Result::ok), numbers.next().and_then(Result::ok));
        match version {
            (Some(major), Some(minor)) if (major, minor) >= (6, 1) => {
                Finding::good("kernel", format!("Linux {release}"))
            }
            (Some(_), Some(_)) => Finding::missing("kernel", format!("Linux {release}"), "boot Linux 6.1 or newer"),
            _ => Finding::note(
                "kernel",
                format!("version `{release}` is not understood"),
                "PCC needs Linux 6.1 or newer",
            ),
        }
    }

    fn types(&self) -> Finding {
        let file = variant::KERNEL_TYPES;
        if self.file(&file[1..]).exists() {
            return Finding::good("types (BTF)", file);
        }
        Finding::missing(
            "types (BTF)",
            format!("no {file}"),
            "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions build it",
        )
    }

    /// The findings on the options that PCC needs.
    fn configuration(&self) -> Vec<Finding> {
        const WHAT: &str = "configuration";
        let Some(config) = self.config() else {
            return vec![Finding::note(
                WHAT,
                "neither /proc/config.gz nor /boot/config-*",
                "the other lines say what matters most",
            )];
        };
        let is_on = |option: &str| {
            let lines = [format!("{option}=y"), format!("{option}=m")];
            config.lines().any(|line| lines.iter().any(|one| one == line))
        };
        let needed = ["CONFIG_BPF_SYSCALL", "CONFIG_BPF_JIT", "CONFIG_DEBUG_INFO_BTF"];
        let lacking: Vec<_> = needed.into_iter().filter(|option| !is_on(option)).collect();
        let mut findings = vec![match lacking.as_slice() {
            [] => Finding::good(WHAT, needed.join(", ")),
            some => Finding::missing(
                WHAT,
                format!("without {}", some.join(", ")),
                "boot a kernel that has them, as distributions do",
            ),
        }];
        if !is_on("CONFIG_CGROUP_BPF") {
            findings.push(Finding::note(
                WHAT,
                "without CONFIG_CGROUP_BPF",
                "`pcc kernel use` cannot work; applications choose by name",
            ));
        }
        findings
    }

    fn config(&self) -> Option<String> {
        let packed = self.file("proc/config.gz");
        let unpacked =
            || Command::new("gzip").arg("-dc").arg(&packed).output().ok().filter(|done| done.status.success());
        let release = self.read("proc/sys/kernel/osrelease").unwrap_or_default();
        let read =
            packed.exists().then(unpacked).flatten().map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
        read.or_else(|| self.read(&format!("boot/config-{release}")))
    }

    fn compiler(&self) -> Finding {
        match self.read("proc/sys/net/core/bpf_jit_enable").as_deref() {
            Some("0") => Finding::missing("BPF compiler", "off", "sysctl -w net.core.bpf_jit_enable=1"),
            _ => Finding::good("BPF compiler", "on"),
        }
    }

    fn rights(&self) -> Finding {
        let lacking = rights::lacking(&self.read("proc/self/status").unwrap_or_default());
        match lacking.as_slice() {
            [] if rights::is_first_namespace(&self.read("proc/self/uid_map").unwrap_or_default()) => {
                Finding::good("rights", "CAP_NET_ADMIN, CAP_SYS_ADMIN")
            }
            [] => {
                Finding::missing("rights", "root of a user namespace only", "run it outside of the container, as root")
            }
            some => Finding::missing(
                "rights",
                format!("without {}", some.join(", ")),
                "run it as root: sudo pcc kernel ...",
            ),
        }
    }

    /// For a connection's state, which the kernel counts among what the socket's owner asks for.
    fn room(&self) -> Finding {
        const WHAT: &str = "room in sockets";
        const REMEDY: &str = "sysctl -w net.core.optmem_max=131072";
        // Not to be read in a network namespace before Linux 6.11, though it holds there.
        let Some(most) = self.read("proc/sys/net/core/optmem_max").and_then(|most| most.parse::<u64>().ok()) else {
            return Finding::note(
                WHAT,
                "net.core.optmem_max cannot be read here",
                format!("in the first network namespace: {REMEDY}"),
            );
        };
        let found = format!("net.core.optmem_max = {most}");
        if most < STATE {
            return Finding::missing(WHAT, format!("{found}: no connection can have PCC"), REMEDY);
        }
        if most < 2 * STATE {
            let problem = format!("{found}: next to nothing is left for zero copy, socket filters and TCP-MD5");
            return Finding::note(WHAT, problem, REMEDY);
        }
        Finding::good(WHAT, found)
    }

    fn lockdown(&self) -> Finding {
        let text = self.read("sys/kernel/security/lockdown").unwrap_or_default();
        let mode = text.split(['[', ']']).nth(1).unwrap_or("none");
        match mode {
            "confidentiality" => Finding::note(
                "lockdown",
                mode,
                "PCC was not tried with it; if the kernel refuses the object, boot with lockdown=integrity",
            ),
            _ => Finding::good("lockdown", format!("{mode}; Secure Boot does not matter, since there is no module")),
        }
    }

    fn name(&self) -> Finding {
        let available = self.read("proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
        if available.split_whitespace().any(|name| name == "pcc") {
            let remedy =
                "`pcc kernel status` says whether it is this one; beside it another name can be loaded, like pcc2";
            return Finding::note("name", "a congestion control called pcc is loaded already", remedy);
        }
        Finding::good("name", format!("pcc is free; there are {available}"))
    }

    fn pacing(&self) -> Finding {
        match self.read("proc/sys/net/core/default_qdisc").as_deref() {
            Some("fq") => {
                Finding::good("pacing", "the queueing discipline fq, for interfaces that come up from now on")
            }
            other => Finding::note(
                "pacing",
                format!("TCP paces by itself: the default queueing discipline is {}", other.unwrap_or("unknown")),
                "works; cheaper for thousands of connections: sysctl -w net.core.default_qdisc=fq, tc qdisc replace dev \
                 INTERFACE root fq",
            ),
        }
    }

    fn groups(&self) -> Finding {
        let mounts = self.read("proc/self/mounts").unwrap_or_default();
        let place = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        match place
            .into_iter()
            .find(|fields| fields.get(2) == Some(&"cgroup2"))
            .and_then(|fields| fields.get(1).copied())
        {
            Some(place) => Finding::good("control groups", format!("version 2 at {place}")),
            None => Finding::note(
                "control groups",
                "version 2 is not mounted",
                "for `pcc kernel use`: mkdir -p /sys/fs/cgroup/unified; mount -t cgroup2 none /sys/fs/cgroup/unified",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_report::finding::Grade;

    /// A computer with these files.
    fn system(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
        let dir = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let file = dir.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        let root = dir.path().to_owned();
        (dir, System { root })
    }

    const HEALTHY: [(&str, &str); 10] = [
        ("proc/sys/net/core/optmem_max", "131072\n"),
        ("proc/sys/kernel/osrelease", "6.1.0-30-amd64\n"),
        ("sys/kernel/btf/vmlinux", ""),
        (
            "boot/config-6.1.0-30-amd64",
            "CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_DEBUG_INFO_BTF=y\nCONFIG_CGROUP_BPF=y\n",
        ),
        ("proc/self/status", "CapEff:\t000001ffffffffff\n"),
        ("proc/self/uid_map", "         0          0 4294967295\n"),
        ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n"),
        ("proc/sys/net/core/default_qdisc", "fq\n"),
        ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
        ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
    ];

    fn grades(system: &System) -> Vec<(&'static str, Grade, String)> {
        let findings = system.findings().into_iter();
        findings
            .filter(|one| one.grade != Grade::Good)
            .map(|one| (one.what, one.grade, one.found + "; " + &one.remedy.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn nothing_is_wrong_with_a_usual_server() {
        assert_eq!(grades(&system(&HEALTHY).1), []);
    }

    #[test]
    fn each_ailment_is_found_alone_with_what_to_do() {
        use Grade::{Missing, Note};
        for (file, content, what, grade, expected) in [
            ("proc/sys/kernel/osrelease", "5.15.0-generic", "kernel", Missing, "boot Linux 6.1"),
            ("proc/sys/kernel/osrelease", "strange", "kernel", Note, "strange"),
            ("proc/self/status", "CapEff:\t0000000000000000\n", "rights", Missing, "sudo pcc kernel"),
            ("proc/self/uid_map", "0 1000 1", "rights", Missing, "outside of the container"),
            ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno pcc", "name", Note, "like pcc2"),
            ("proc/sys/net/core/default_qdisc", "pfifo_fast", "pacing", Note, "tc qdisc replace"),
            ("proc/sys/net/core/optmem_max", "16383", "room in sockets", Note, "zero copy"),
            ("proc/sys/net/core/optmem_max", "8191", "room in sockets", Missing, "optmem_max=131072"),
            ("proc/sys/net/core/optmem_max", "much", "room in sockets", Note, "cannot be read"),
            ("proc/sys/net/core/bpf_jit_enable", "0", "BPF compiler", Missing, "bpf_jit_enable=1"),
            ("proc/self/mounts", "proc /proc proc rw 0 0", "control groups", Note, "mount -t cgroup2"),
            (
                "sys/kernel/security/lockdown",
                "none integrity [confidentiality]",
                "lockdown",
                Note,
                "lockdown=integrity",
            ),
            (
                "boot/config-6.1.0-30-amd64",
                "CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_CGROUP_BPF=y\n",
                "configuration",
                Missing,
                "without CONFIG_DEBUG_INFO_BTF",
            ),
        ] {
            let (_dir, ill) = system(&HEALTHY);
            fs::create_dir_all(ill.file(file).parent().unwrap()).unwrap();
            fs::write(ill.file(file), content).unwrap();
            let found = grades(&ill);
            let one = found.iter().find(|one| one.0 == what).unwrap_or_else(|| panic!("{what}: {found:?}"));
            assert!(one.1 == grade && one.2.contains(expected), "{one:?}");
        }
        let (_dir, ill) = system(&HEALTHY);
        fs::remove_file(ill.file("sys/kernel/btf/vmlinux")).unwrap();
        assert!(
            matches!(&grades(&ill)[..], [("types (BTF)", Missing, text)] if text.contains("CONFIG_DEBUG_INFO_BTF"))
        );
    }

    #[test]
    fn a_computer_that_tells_nothing_is_judged_without_a_panic() {
        assert!(grades(&system(&[]).1).iter().any(|one| one.0 == "rights" && one.1 == Grade::Missing));
    }
}
