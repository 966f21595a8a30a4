//! The marks of this program: a lab, which may be of another build, looks for them in the file.

/// By this a lab finds what the source is without PCC.
#[used]
static STACK: &str = concat!("pcc-stack:", env!("PCC_STACK"), ";");

/// By this it finds the commit of the build.
#[used]
static COMMIT: &str = concat!("pcc-commit:", env!("PCC_COMMIT"), ";");

#[cfg(test)]
#[path = "../stack.rs"]
mod stack;

#[cfg(test)]
mod tests {
    use super::stack;
    use pcc_lab::program::Program;
    use std::fs;
    use std::path::Path;

    #[test]
    fn this_program_tells_what_its_source_is_without_pcc() {
        let program = Program::read(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(program.stack, env!("PCC_STACK"));
        assert_ne!(program.stack, program.hash);
    }

    #[test]
    fn pcc_and_other_commands_may_change_and_the_quic_stack_may_not() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let hash = |how: &str| stack::hash(dir.path(), how).unwrap();
        assert_eq!(hash("-O"), None, "a package without the workspace around it");
        for name in ["core", "quic", "net", "perf", "command", "cli"] {
            write(&format!("crates/{name}/Cargo.toml"), "1");
        }
        for name in ["Cargo.lock", "Cargo.toml", "crates/core/src/recovery.rs", "crates/core/src/units.rs"] {
            write(name, "1");
        }
        for name in ["noq", "noq-proto"] {
            write(&format!("vendor/{name}/patched/Cargo.toml"), "1");
            write(&format!("vendor/{name}/patched/src/lib.rs"), "1");
        }
        for name in ["crates/quic/src/pace/send_gate.rs", "crates/perf/src/client.rs", "crates/cli/src/main.rs"] {
            write(name, "1");
        }
        write("crates/net/src/dial.rs", "1");
        write("crates/command/src/exit.rs", "1");
        let first = hash("-O");
        assert_ne!(first, hash("-O3"));
        for apart in [
            "crates/core/src/control/allegro.rs",
            "crates/core/src/pcc.rs",
            "crates/cli/src/serve/mod.rs",
            "crates/cli/src/get.rs",
            "crates/command/src/utility_options.rs",
            "crates/instruments/src/race.rs",
            "crates/perf/src/tests.rs",
            "crates/link/src/path.rs",
        ] {
            write(apart, "2");
            assert_eq!(hash("-O"), first, "{apart}");
        }
        let member = "[[package]]\nname = \"pcc-sim\"\nversion = \"1\"";
        let package = |version: u8| format!("[[package]]\nname = \"noq\"\nversion = \"{version}\"\nsource = \"s\"");
        write("Cargo.lock", &package(1));
        let first = hash("-O");
        write("Cargo.lock", &format!("{}\n\n{member}\n", package(1)));
        write("Cargo.toml", "1\nmembers = [\"crates/core\", \"crates/sim\"]\n");
        assert_eq!(hash("-O"), first, "one more crate in the workspace");
        write("Cargo.lock", &package(2));
        assert_ne!(hash("-O"), first, "another version of a dependency");
        write("Cargo.lock", &package(1));
        for part in [
            "crates/quic/src/pace/send_gate.rs",
            "crates/perf/src/client.rs",
            "vendor/noq/patched/src/lib.rs",
            "vendor/noq-proto/patched/src/lib.rs",
        ] {
            write(part, "2");
            assert_ne!(hash("-O"), first, "{part}");
            write(part, "1");
        }
    }

    #[test]
    fn what_counts_as_the_stack_uses_nothing_that_does_not() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files = stack::files(&root).unwrap();
        assert!(files.len() > 100, "{}", files.len());
        // The code that chooses among the commands, and PCC's own, which CUBIC does not get to see.
        let known =
            ["main.rs", "controller.rs", "algorithm.rs", "handle.rs", "sender.rs", "args.rs", "runner.rs", "watch.rs"];
        let others = files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs"));
        for file in others.filter(|file| {
            !known.iter().chain(&["intervals.rs", "paths.rs", "qlog.rs", "example.rs"]).any(|name| file.ends_with(name))
        }) {
            let text = fs::read_to_string(file).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let code = code.collect::<Vec<_>>().join("\n");
            for apart in stack::APART {
                assert!(!code.contains(&format!("crate::{apart}::")), "{} uses {apart}", file.display());
            }
            // PCC's own code uses all of the core, the rest its units and its reordering thresholds.
            let uses = code.split("pcc::").skip(1).zip(code.split("pcc::"));
            for (what, before) in uses {
                let is_of_core = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
                let is_shared = ["units", "recovery"].iter().any(|module| what.starts_with(module));
                assert!(!is_of_core || is_shared, "{}: {what:.40}", file.display());
            }
        }
    }
}
