//! `pcc ssh` and `pcc tunnel --stdio`: with a script in the place of the ssh that starts the far side, and with a real sshd.
#![cfg(unix)]

mod sshd;
mod upload;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use sshd::Sshd;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use upload::{Bench, Running, said, wait_until};

const PCC: &str = env!("CARGO_BIN_EXE_pcc");

fn script(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.path(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// In ssh's place: says that it came to an ssh server at this port, and runs the far side here, which outlives it. It keeps what it was
/// told, and that the far side ended.
fn ssh_to(bench: &Bench, port: u16) -> String {
    let text = format!(
        r#"#!/bin/sh
here=$(dirname "$0")
for command; do :; done
case " $* " in *' -G '*) exit 0 ;; esac
echo "$*" > "$here/told"
export SSH_CONNECTION='192.0.2.1 50000 127.0.0.1 {port}'
exec 3<&0
{{ sh -c "$command"; echo "$?" > "$here/ended"; }} <&3 &
wait
"#
    );
    script(bench, "ssh", &text)
}

/// `pcc ssh --stdio`, which this ssh leads to this computer.
fn stdio(bench: &Bench, ssh: &str) -> Command {
    bench.pcc(&["ssh", "--ssh", ssh, "--remote-pcc", PCC, "--port-range", "20000-29999", "--stdio", "me@localhost:22"])
}

/// In the ssh server's place: does this with one connection.
fn server(work: impl FnOnce(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || work(listener.accept().unwrap().0));
    port
}

#[test]
fn ten_megabytes_go_to_the_ssh_server_and_back() {
    let bench = Bench::new();
    let echo = |tcp: TcpStream| assert_eq!(std::io::copy(&mut &tcp, &mut &tcp).unwrap(), 10_000_000);
    let ssh = ssh_to(&bench, server(echo));
    let data = bench.write("sent", 10_000_000);
    let input = std::fs::File::open(bench.path("sent")).unwrap();
    let done = stdio(&bench, &ssh).stdin(input).output().unwrap();
    assert!(done.status.success() && done.stdout == data, "{:?}: {} bytes", done.status, done.stdout.len());
    let told = std::fs::read_to_string(bench.path("told")).unwrap();
    assert!(told.starts_with("-p 22 -o ProxyCommand=none -o ControlPath=none "), "{told}");
    assert!(told.trim_end().ends_with(&format!("-l me localhost {PCC} serve --once-over-ssh")), "{told}");
    wait_until("the far side ends", || bench.path("ended").exists());
}

#[test]
fn it_ends_when_the_ssh_server_does_or_ssh_hangs_up() {
    for hangs_up in [false, true] {
        let bench = Bench::new();
        let ssh = ssh_to(
            &bench,
            server(move |mut tcp| {
                tcp.write_all(b"bye").unwrap();
                let _ = hangs_up.then(|| tcp.read(&mut [0]));
            }),
        );
        let mut pcc = Running(stdio(&bench, &ssh).stdin(Stdio::piped()).spawn().unwrap());
        let mut word = [0; 3];
        pcc.0.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
        assert_eq!(&word, b"bye");
        if hangs_up {
            kill_process(Pid::from_child(&pcc.0), Signal::HUP).unwrap();
        }
        assert_eq!(end_of(&mut pcc.0), Some(0));
        wait_until("the far side ends", || bench.path("ended").exists());
    }
}

fn end_of(process: &mut Child) -> Option<i32> {
    let mut status = None;
    wait_until("it ends", || {
        status = process.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

#[test]
fn each_failure_before_the_session_says_what_to_do() {
    let bench = Bench::new();
    let silent = r#"echo '{"pcc_over_ssh":1,"version":"0","listening":{"port":1,"fingerprint":"sha256=0000000000000000000000000000000000000000000000000000000000000000","secret":"a","token":"t","ssh_server":"127.0.0.1:22","file":"","name":"x"}}'; cat > /dev/null"#;
    let files = silent.replace(r#""ssh_server":"127.0.0.1:22","#, "");
    let unknown = format!("unset SSH_CONNECTION; {PCC} serve --once-over-ssh");
    for (text, code, words) in [
        ("exit 127", 1, "there is no `no-pcc` on localhost: --remote-pcc"),
        ("echo Permission denied >&2; exit 255", 5, "ssh did not reach localhost, and says above why"),
        ("read -r line; exit 2", 1, "too old"),
        (&unknown, 1, "does not know where its ssh server listens"),
        (&files, 1, "offers what was not asked for"),
        (silent, 5, "let UDP 60000-61000 in there (`sudo ufw allow 60000:61000/udp`), name ports that are open"),
    ] {
        let ssh = script(&bench, "ssh", &format!("#!/bin/sh\n{text}\n"));
        let done = bench.run(&["ssh", "--ssh", &ssh, "--remote-pcc", "no-pcc", "--stdio", "me@localhost:22"]);
        assert!(done.status.code() == Some(code) && said(&done).contains(words), "{text}: {}", said(&done));
    }
    let none = bench.run(&["ssh", "--ssh", "/no/such/ssh", "host"]);
    assert!(
        none.status.code() == Some(1) && said(&none).contains("name another command with --ssh"),
        "{}",
        said(&none)
    );
}

#[test]
fn the_tool_becomes_ssh_with_all_its_words() {
    let bench = Bench::new();
    let ssh = script(&bench, "ssh", "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 42\n");
    let done = bench.run(&["ssh", "--ssh", &format!("{ssh} -x"), "-p", "2222", "-i", "my key", "me@host", "uname  -a"]);
    assert_eq!(done.status.code(), Some(42));
    let told = String::from_utf8(done.stdout).unwrap();
    let (proxy, rest) = told.split_once("\n-x\n").unwrap();
    assert_eq!(rest, "-p\n2222\n-i\nmy key\nme@host\nuname  -a\n");
    let both = format!("{} -x -i 'my key'", ssh).replace('\'', r"'\''");
    let expected = format!("ProxyCommand={PCC} ssh --ssh '{both}' --port-range 60000-61000 --stdio %r@%n:%p");
    assert_eq!(proxy.lines().last(), Some(&*expected));
}

#[test]
fn a_tunnel_leads_standard_input_and_output() {
    let bench = Bench::new();
    let there = server(|mut tcp| {
        let mut word = [0; 5];
        tcp.read_exact(&mut word).unwrap();
        assert_eq!(tcp.read(&mut [0]).unwrap(), 0, "the end of standard input arrives");
        tcp.write_all(&word.map(|letter| letter.to_ascii_uppercase())).unwrap();
    });
    let (to, nowhere) = (format!("127.0.0.1:{there}"), format!("127.0.0.1:{}", server(drop)));
    let host = bench.serve_with(&["--tunnel", "--allow", &to]);
    std::fs::write(bench.path("word"), "hello").unwrap();
    for (to, code, words) in [(&to, 0, "HELLO"), (&nowhere, 1, "does not allow")] {
        let input = std::fs::File::open(bench.path("word")).unwrap();
        let done = bench.pcc(&["tunnel", "--stdio", to, &host.url("")]).stdin(input).output().unwrap();
        assert!(done.status.code() == Some(code) && said(&done).contains(words), "{}", said(&done));
    }
}

/// `pcc ssh` to this sshd.
fn pcc_ssh(bench: &Bench, ssh: &str, words: &[&str]) -> Command {
    let own = ["ssh", "--ssh", ssh, "--remote-pcc", PCC, "--port-range", "20000-29999", "127.0.0.1"];
    bench.pcc(&[&own[..], words].concat())
}

#[test]
#[ignore = "needs openssh-server; `.ci/steps` runs it where that is installed"]
fn a_real_session_passes_input_output_and_exit_code() {
    let bench = Bench::new();
    let sshd = Sshd::start(&bench);
    let data = bench.write("sent", 10_000_000);
    let input = std::fs::File::open(bench.path("sent")).unwrap();
    let done = pcc_ssh(&bench, &sshd.ssh, &["cat; echo $SSH_CONNECTION >&2; exit 7"]).stdin(input).output().unwrap();
    assert!(done.status.code() == Some(7) && done.stdout == data, "{}", String::from_utf8_lossy(&done.stderr));
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!(told.split(' ').next(), Some("127.0.0.1"), "the far side leads to sshd: {told}");
    let missing = pcc_ssh(&bench, &sshd.ssh.replace("-p ", "-p 1 -p "), &["true"]).output().unwrap();
    assert!(missing.status.code() == Some(255) && said(&missing).contains("refused"), "{}", said(&missing));
}

#[test]
#[ignore = "needs openssh-server; `.ci/steps` runs it where that is installed"]
fn ssh_itself_checks_the_host_key_through_the_proxy() {
    let bench = Bench::new();
    let sshd = Sshd::start(&bench);
    let key = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    for (name, code) in [("host_key.pub", 0), ("user_key.pub", 255)] {
        std::fs::write(bench.path("known"), format!("[127.0.0.1]:{} {}", sshd.port, key(name))).unwrap();
        let proxy =
            format!("{PCC} ssh --ssh \"{}\" --remote-pcc {PCC} --port-range 20000-29999 --stdio %r@%n:%p", sshd.ssh);
        let known = format!("UserKnownHostsFile={}", bench.path("known").display());
        let mut ssh = Command::new("ssh");
        ssh.args([
            "-F",
            "none",
            "-o",
            "StrictHostKeyChecking=yes",
            "-o",
            &known,
            "-o",
            &format!("ProxyCommand={proxy}"),
        ]);
        ssh.args(["-p", &sshd.port.to_string(), "-i"]).arg(bench.path("user_key")).args(["127.0.0.1", "true"]);
        let done = ssh.output().unwrap();
        assert_eq!(done.status.code(), Some(code), "{}", said(&done));
        assert_eq!(said(&done).contains("Host key verification failed"), code != 0, "{}", said(&done));
    }
}

#[test]
#[ignore = "needs openssh-server; `.ci/steps` runs it where that is installed"]
fn git_clones_over_it() {
    let bench = Bench::new();
    let sshd = Sshd::start(&bench);
    let git = |words: &[&str], there: &Path| -> Output {
        let ssh = format!("{PCC} ssh --ssh \"{}\" --remote-pcc {PCC} --port-range 20000-29999", sshd.ssh);
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).current_dir(there);
        git.env("GIT_SSH_COMMAND", ssh).output().unwrap()
    };
    let served = bench.path("served");
    bench.write("served/file", 300_000);
    for words in [&["init", "-q"][..], &["add", "file"], &["commit", "-qm", "one"]] {
        assert!(git(words, &served).status.success());
    }
    let from = format!("127.0.0.1:{}", served.display());
    let cloned = git(&["clone", "-q", &from, "copy"], &bench.path("client"));
    assert!(cloned.status.success(), "{}", said(&cloned));
    assert_eq!(std::fs::read(bench.path("client/copy/file")).unwrap(), std::fs::read(served.join("file")).unwrap());
}

#[test]
#[ignore = "needs openssh-server and rsync; `.ci/steps` runs it where those are installed"]
fn rsync_goes_both_ways_over_it_and_sends_what_changed() {
    let bench = Bench::new();
    let sshd = Sshd::start(&bench);
    let ssh = format!("{PCC} ssh --ssh '{}' --remote-pcc {PCC} --port-range 20000-29999", sshd.ssh.replace('\'', "\""));
    let rsync = |from: &str, to: &str| {
        let mut rsync = Command::new("rsync");
        rsync.args(["-a", "--stats", "-e", &ssh, from, to]).env("XDG_STATE_HOME", bench.path("state"));
        let done = rsync.output().unwrap();
        assert!(done.status.success(), "{}", said(&done));
        let stats = String::from_utf8(done.stdout).unwrap();
        let literal = stats.lines().find_map(|line| line.strip_prefix("Literal data: ")?.strip_suffix(" bytes"));
        literal.unwrap_or_else(|| panic!("{stats}")).replace(',', "").parse::<u64>().unwrap()
    };
    let mut data = bench.write("client/file", 3_000_000);
    std::os::unix::fs::symlink("file", bench.path("client/link")).unwrap();
    let (here, there) = (bench.path("client"), bench.path("served"));
    let (here, there) = (here.display(), there.display());
    assert_eq!(rsync(&format!("{here}/"), &format!("127.0.0.1:{there}/")), 3_000_000);
    data[1_500_000] ^= 1;
    std::fs::write(bench.path("client/file"), &data).unwrap();
    assert!(rsync(&format!("{here}/"), &format!("127.0.0.1:{there}/")) < 100_000, "the rest is there");
    assert_eq!(rsync(&format!("127.0.0.1:{there}/"), &format!("{here}/back")), 3_000_000);
    assert!(std::fs::read(bench.path("client/back/file")).unwrap() == data);
    assert_eq!(bench.path("client/back/link").read_link().unwrap(), Path::new("file"));
}

#[test]
#[ignore = "needs openssh-server; `.ci/steps` runs it where that is installed"]
fn ctrl_c_ends_both_logins_and_the_far_side() {
    let bench = Bench::new();
    let sshd = Sshd::start(&bench);
    let here = bench.path("").display().to_string();
    let far = script(&bench, "far", &format!("#!/bin/sh\n{PCC} \"$@\"\necho over > {here}ended\n"));
    let own = ["ssh", "--ssh", &sshd.ssh, "--remote-pcc", &far, "--port-range", "20000-29999", "127.0.0.1"];
    // A shell that starts tests in the background has them ignore SIGINT, and ssh leaves that so.
    let mut pcc = Command::new("env");
    pcc.args(["--default-signal=INT", PCC]).args(own).arg("echo begun; sleep 100").stdout(Stdio::piped());
    pcc.env("XDG_STATE_HOME", bench.path("state")).stdin(Stdio::null()).stderr(Stdio::null());
    let mut pcc = Running(pcc.process_group(0).spawn().unwrap());
    pcc.0.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    kill_process_group(Pid::from_child(&pcc.0), Signal::INT).unwrap();
    assert_ne!(end_of(&mut pcc.0), Some(0));
    wait_until("the far side ends", || bench.path("ended").exists());
}
