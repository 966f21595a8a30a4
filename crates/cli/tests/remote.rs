//! Transfers with `user@host:path`: through a command in ssh's place that runs the far side on this computer, and through a
//! real sshd.
#![cfg(unix)]

mod far;
mod sshd;
mod upload;

use far::{Far, done, same};
use serde_json::Value;
use sshd::Sshd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use upload::{Bench, lines, said, wait_until};

#[test]
fn a_file_comes_and_goes_by_its_path() {
    let far = Far::new();
    far.0.write("served/a file", 700_000);
    let get = far.run(&["get", "me@localhost:a file", "--json"]);
    assert_eq!(done(&get)["verified"], true);
    assert!(same(&far.here("a file"), &far.0.path("served/a file")));
    std::fs::create_dir(far.0.path("served/in")).unwrap();
    for (to, path) in [("in/", "in/a file"), ("new", "new"), ("made/", "made/a file")] {
        let put = far.run(&["put", "a file", &format!("localhost:{to}"), "--json"]);
        assert_eq!(done(&put)["url"], format!("localhost:{path}"));
        assert!(same(&far.here("a file"), &far.0.path("served").join(path)), "{to}");
    }
    let onto = far.run(&["put", "a file", "localhost:in"]);
    assert!(onto.status.code() == Some(1) && said(&onto).contains("end the path with /"), "{}", said(&onto));
    let first = far.text("arguments");
    assert!(
        first.starts_with("-l me localhost ") && first.lines().all(|line| line.ends_with("serve --once-over-ssh")),
        "{first}"
    );
    far.wait_for_the_end();
}

/// Asks the script for what may stand at the end of a line, as bash asks at a tab.
const TAB_IN_BASH: &str = r#"
. "$HERE/script"
compopt() { :; }
COMP_LINE=$LINE COMP_POINT=${#LINE}
IFS=' ' read -ra COMP_WORDS <<<"${LINE//:/ : }"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_pcc_with_far_names pcc "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// The same in zsh, which completes at a terminal alone: in one of its own, where the first tab finds the script as packages install it.
/// Each name in place of the line's last word, as zsh writes it there.
const TAB_IN_ZSH: &str = r#"
mkdir -p $HERE/functions && mv $HERE/script $HERE/functions/_pcc
cat >$HERE/inner <<'INNER'
autoload -Uz compinit
fpath=($HERE/functions $fpath)
compinit -u -D
every_name() { _main_complete; compstate[insert]=all }
zle -C every-name complete-word every_name
zle-line-init() { BUFFER=$LINE CURSOR=$#LINE; zle every-name; print -r -- ${BUFFER##pcc (get|put other) } >$HERE/told; exit }
zle -N zle-line-init
INNER
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner '. $HERE/inner'
while zpty -r inner said; do :; done
cat $HERE/told
"#;

/// And in fish, which then names them as they are.
const TAB_IN_FISH: &str = "source $HERE/script; complete -C $LINE | string replace -r '\\t.*' ''";

/// A shell, and what it is told.
type Shell<'a> = (&'a str, &'a [&'a str]);

/// That shell's names for the end of a line, with files on the far side.
fn completes((shell, words): Shell<'_>, lines: &[(&str, &str)]) {
    let far = Far::new();
    std::fs::create_dir(far.0.path("served/films")).unwrap();
    for name in ["film one", "f$(touch evil)", "other"] {
        far.0.write(&format!("served/{name}"), 1);
    }
    let path = format!("{}:{}", far.0.path("").display(), std::env::var("PATH").unwrap());
    for (line, names) in lines {
        std::fs::write(far.0.path("script"), far.0.run(&["completions", shell]).stdout).unwrap();
        let mut tab = Command::new(shell);
        tab.args(words).envs([("HERE", far.0.path("").to_str().unwrap()), ("LINE", *line), ("PATH", path.as_str())]);
        let told = tab.env("COMP_WORDBREAKS", " :").current_dir(far.here("")).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        assert_eq!(told.lines().collect::<Vec<_>>().join(" "), *names, "{line}");
    }
    assert!(!far.here("evil").exists() && !far.0.path("served/evil").exists());
}

#[test]
fn bash_completes_names_of_the_far_side() {
    let lines = [
        ("pcc get me@host:f", r"f\$\(touch\ evil\) film\ one films/"),
        ("pcc put other host:~/films", "~/films/"),
        ("pcc get host:o; touch evil; ", ""),
        ("pcc get --dry-r", "--dry-run"),
        ("pcc get ./a:f", ""),
    ];
    completes(("bash", &["-c", TAB_IN_BASH]), &lines);
}

#[test]
#[ignore = "needs zsh; `.ci/steps` runs it where that is installed"]
fn zsh_completes_names_of_the_far_side() {
    let lines = [
        ("pcc get me@host:f", r"me@host:f\$\(touch\ evil\) me@host:film\ one me@host:films/"),
        ("pcc put other host:~/films", "host:~/films/"),
        ("pcc get host:'film o", r"host:film\ one "),
        ("pcc get 'host:o; touch evil; ", "'host:o; touch evil; "),
        ("pcc get --dry-r", "--dry-run "),
        ("pcc get ./a:f", "./a:f"),
    ];
    completes(("zsh", &["-f", "-c", TAB_IN_ZSH]), &lines);
}

#[test]
#[ignore = "needs fish; `.ci/steps` runs it where that is installed"]
fn fish_completes_names_of_the_far_side() {
    let lines = [
        ("pcc get me@host:f", "me@host:f$(touch evil) me@host:film one me@host:films/"),
        ("pcc put other host:~/films", "host:~/films/"),
        ("pcc get host:film\\ o", "host:film one"),
        ("pcc get 'host:o; touch evil; ", ""),
        ("pcc get --dry-r", "--dry-run"),
        ("pcc get ./a:f", ""),
    ];
    completes(("fish", &["--no-config", "-c", TAB_IN_FISH]), &lines);
}

#[test]
fn a_directory_that_is_there_is_not_moved_again() {
    let far = Far::new();
    std::fs::create_dir_all(far.0.path("served/photos/sub")).unwrap();
    far.0.write("served/photos/a", 300_000);
    far.0.write("served/photos/sub/b", 200_000);
    for (resumed, arguments) in [
        (0, ["get", "localhost:photos", "--json"].to_vec()),
        (500_000, ["get", "localhost:photos", "--json"].to_vec()),
        (0, ["put", "photos", "localhost:", "--json"].to_vec()),
    ] {
        if arguments[0] == "put" {
            std::fs::remove_dir_all(far.0.path("served/photos")).unwrap();
        }
        let done = done(&far.run(&arguments));
        assert_eq!((done["files"].as_u64(), done["resumed_from"].as_u64()), (Some(2), Some(resumed)), "{done}");
    }
    let again = done(&far.run(&["put", "photos", "localhost:", "--json"]));
    assert_eq!((again["files"].as_u64(), again["resumed_from"].as_u64()), (Some(2), Some(500_000)));
    assert!(same(&far.here("photos/sub/b"), &far.0.path("served/photos/sub/b")));
}

#[test]
fn what_the_source_lacks_is_deleted_on_the_far_side() {
    let far = Far::new();
    std::fs::create_dir(far.0.path("served/site")).unwrap();
    std::fs::create_dir(far.here("site")).unwrap();
    for name in ["served/site/old", "served/beside", "client/site/new"] {
        far.0.write(name, 1000);
    }
    for (dry_run, is_left) in [(&["-n"][..], true), (&[], false)] {
        let put = far.run(&[&["put", "-a", "--delete", "site", "localhost:", "--json"], dry_run].concat());
        assert_eq!(done(&put)["deleted"].as_u64(), Some(1), "{}", said(&put));
        assert_eq!(far.0.path("served/site/old").exists(), is_left);
    }
    assert!(far.0.path("served/beside").exists() && same(&far.here("site/new"), &far.0.path("served/site/new")));
}

/// Each entry below a directory: its path, what it is, its permissions, time, owners, and which names are those of one file.
fn entries(top: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let (mut found, mut open, mut firsts) = (Vec::new(), vec![PathBuf::new()], std::collections::HashMap::new());
    while let Some(dir) = open.pop() {
        let mut names: Vec<_> =
            std::fs::read_dir(top.join(&dir)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        for path in names.into_iter().map(|name| dir.join(name)) {
            let data = top.join(&path).symlink_metadata().unwrap();
            let mode = data.mode() & 0o777;
            let (what, kept) = if data.is_symlink() {
                (format!("-> {}", top.join(&path).read_link().unwrap().display()), 0)
            } else if data.is_dir() {
                open.push(path.clone());
                ("directory".to_owned(), mode)
            } else {
                let first = firsts.entry((data.dev(), data.ino())).or_insert_with(|| path.clone());
                (format!("{} bytes, as {}", data.len(), first.display()), mode)
            };
            let (time, part, owner, group) = (data.mtime(), data.mtime_nsec(), data.uid(), data.gid());
            found.push(format!("{}: {what} {kept:o} {time}.{part} {owner}:{group}", path.display()));
        }
    }
    found.sort();
    found
}

/// A directory `client/tree` with all that is kept.
fn tree(far: &Far) {
    std::fs::create_dir_all(far.here("tree/sub/empty")).unwrap();
    far.0.write("client/tree/file", 100_000);
    far.0.write("client/tree/sub/tool", 1000);
    std::fs::hard_link(far.here("tree/file"), far.here("tree/sub/again")).unwrap();
    for (name, to) in
        [("up", "../file"), ("gone", "nowhere"), ("out", "/etc/hostname"), ("dir", "empty"), ("far", "../../x")]
    {
        std::os::unix::fs::symlink(to, far.here("tree/sub").join(name)).unwrap();
    }
    std::fs::set_permissions(far.here("tree/sub/tool"), PermissionsExt::from_mode(0o751)).unwrap();
    std::fs::set_permissions(far.here("tree/sub/empty"), PermissionsExt::from_mode(0o710)).unwrap();
    if rustix::process::geteuid().is_root() {
        for (name, owner) in [("tree/sub/tool", 4_000_001), ("tree/sub/gone", 4_000_002), ("tree/sub/empty", 4_000_003)]
        {
            std::os::unix::fs::lchown(far.here(name), Some(owner), Some(owner + 10)).unwrap();
        }
    }
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 123_456_789);
    for name in ["tree/sub/empty", "tree/sub", "tree"] {
        std::fs::File::open(far.here(name)).unwrap().set_modified(old).unwrap();
    }
}

#[test]
fn a_tree_arrives_as_it_is_and_a_second_run_sends_nothing() {
    let far = Far::new();
    tree(&far);
    let here = entries(&far.here("tree"));
    for words in [["put", "-aH", "tree", "localhost:there"], ["get", "-aH", "localhost:there/", "back"]] {
        let first = done(&far.run(&[&words[..], &["--json"]].concat()));
        assert_eq!((first["files"].as_u64(), first["links"].as_u64()), (Some(2), Some(6)), "{first}");
        let again = far.run(&[&words[..], &["--json"]].concat());
        let last = done(&again);
        assert_eq!((&last["resumed_from"], &last["links"]), (&last["bytes"], &first["links"]), "{last}");
        assert!(lines(&again).iter().all(|line| line["event"] != "link"), "{}", said(&again));
        let rehearsed = done(&far.run(&[&words[..], &["--json", "-n"]].concat()));
        assert_eq!(rehearsed["due"].as_u64(), Some(0), "{rehearsed}");
    }
    assert_eq!(entries(&far.0.path("served/there")), here);
    assert_eq!(entries(&far.here("back")), here);
}

#[test]
fn links_are_replaced_and_deleted_as_files_are() {
    let far = Far::new();
    std::fs::create_dir_all(far.here("site")).unwrap();
    let link = |to: &str, name: &str| {
        let _ = std::fs::remove_file(far.here(name));
        std::os::unix::fs::symlink(to, far.here(name)).unwrap();
    };
    link("one", "site/now");
    link("x", "site/file");
    std::fs::create_dir_all(far.0.path("served/site/now")).unwrap();
    far.0.write("served/site/file", 1000);
    far.0.write("served/site/now/old", 1000);
    let blocked = far.run(&["put", "-a", "site", "localhost:site"]);
    assert_eq!(blocked.status.code(), Some(3), "{}", said(&blocked));
    let put = || done(&far.run(&["put", "-a", "--delete", "site", "localhost:site", "--json"]));
    assert_eq!((put()["failed"].as_u64(), put()["deleted"].as_u64()), (Some(0), Some(0)));
    assert_eq!(entries(&far.0.path("served/site")), entries(&far.here("site")));
    link("two", "site/now");
    put();
    assert_eq!(far.0.path("served/site/now").read_link().unwrap(), Path::new("two"));
    std::fs::remove_file(far.here("site/file")).unwrap();
    assert_eq!(put()["deleted"].as_u64(), Some(1));
    std::fs::create_dir_all(far.here("back/now/old")).unwrap();
    let get = done(&far.run(&["get", "-a", "--delete", "localhost:site/", "back", "--json"]));
    assert_eq!(get["failed"].as_u64(), Some(0), "{get}");
    assert_eq!(entries(&far.here("back")), entries(&far.here("site")));
}

#[test]
fn links_that_lead_out_can_be_left_out_over_ssh() {
    let far = Far::new();
    tree(&far);
    let put = far.run(&["put", "-a", "--safe-links", "tree", "localhost:there"]);
    assert!(put.status.code() == Some(3) && said(&put).contains("leads out of the directory"), "{}", said(&put));
    assert!(!far.0.path("served/there/sub/out").is_symlink() && far.0.path("served/there/sub/up").is_symlink());
    std::os::unix::fs::symlink("/etc/hostname", far.0.path("served/there/out")).unwrap();
    let get = far.run(&["get", "-a", "--safe-links", "localhost:there/", "back"]);
    assert!(get.status.code() == Some(3) && said(&get).contains("leads out of the directory"), "{}", said(&get));
    assert!(!far.here("back/out").is_symlink() && far.here("back/sub/up").is_symlink());
}

#[test]
fn zeros_take_no_room_if_that_is_asked_for() {
    use std::os::unix::fs::MetadataExt;
    let far = Far::new();
    let mut disk = far.0.write("client/disk", 300_000);
    disk.extend(vec![0; 20_000_000]);
    disk.extend_from_slice(b"end");
    std::fs::write(far.here("disk"), &disk).unwrap();
    for words in [["put", "-S", "disk", "localhost:disk"], ["get", "-S", "localhost:disk", "back"]] {
        done(&far.run(&[&words[..], &["--json"]].concat()));
    }
    for path in [far.0.path("served/disk"), far.here("back")] {
        assert!(std::fs::read(&path).unwrap() == disk);
        assert!(path.metadata().unwrap().blocks() * 512 < 2_000_000, "{}", path.display());
    }
}

#[test]
fn several_go_into_a_directory_that_is_made_there_and_here() {
    let far = Far::new();
    far.0.write("client/a", 1000);
    far.0.write("client/b", 2000);
    let put = far.run(&["put", "a", "b", "localhost:new"]);
    assert!(put.status.success(), "{}", said(&put));
    let get = far.run(&["get", "localhost:new/a", "localhost:new/b", "localhost:new", "back"]);
    assert!(get.status.success(), "{}", said(&get));
    for name in ["back/a", "back/b", "back/new/b"] {
        assert!(same(&far.here(name), &far.here(&name[name.len() - 1..])), "{name}");
    }
}

#[test]
fn only_the_slash_decides_also_in_the_second_run() {
    let far = Far::new();
    std::fs::create_dir(far.here("site")).unwrap();
    for version in [1000, 2000] {
        far.0.write("client/site/index", version);
        for (to, path) in [("www", "www/index"), ("in/", "in/site/index")] {
            let put = far.run(&["put", "-a", "--delete", "site", &format!("localhost:{to}")]);
            assert!(put.status.success(), "{}", said(&put));
            assert!(same(&far.here("site/index"), &far.0.path("served").join(path)), "{to}");
        }
        for (from, to, path) in
            [("www", "", "www/index"), ("www/", "copy", "copy/index"), ("www", "all/", "all/www/index")]
        {
            let from = format!("localhost:{from}");
            let words: Vec<_> =
                ["get", "-a", "--delete", &from, to].into_iter().filter(|word| !word.is_empty()).collect();
            let get = far.run(&words);
            assert!(get.status.success(), "{}", said(&get));
            assert!(same(&far.here("site/index"), &far.here(path)), "{from} {to}");
        }
    }
    assert!(!far.0.path("served/www/site").exists() && !far.here("copy/www").exists());
    let bare = far.run(&["get", "localhost:www", "copy"]);
    assert!(
        bare.status.code() == Some(2) && said(&bare).contains("write localhost:www/ for what is in it"),
        "{}",
        said(&bare)
    );
}

#[test]
fn a_last_path_of_this_computer_is_the_destination() {
    let far = Far::new();
    far.0.write("served/file", 1000);
    std::fs::create_dir(far.here("dir")).unwrap();
    for (to, path) in [(".", "file"), ("dir", "dir/file"), ("made/", "made/file"), ("./copy", "copy")] {
        let get = far.run(&["get", "localhost:file", to]);
        assert!(get.status.success() && same(&far.0.path("served/file"), &far.here(path)), "{to}: {}", said(&get));
    }
    for (words, remedy) in [
        (&["get", "x"][..], "`x` is neither a URL nor HOST:PATH"),
        (&["get", "x", "localhost:file"], "only the last word may be a path of this computer"),
        (&["get", "localhost:file", "x", "-o", "y"], "two destinations"),
    ] {
        let get = far.run(words);
        assert!(get.status.code() == Some(2) && said(&get).contains(remedy), "{}", said(&get));
    }
}

#[test]
fn the_far_side_does_not_choose_the_name_of_a_copy() {
    let far = Far::new();
    std::fs::create_dir(far.0.path("served/d")).unwrap();
    far.0.write("served/d/a", 4);
    for dir in [".ssh", "home"] {
        std::fs::create_dir(far.here(dir)).unwrap();
        std::fs::write(far.here(dir).join("mine"), "mine").unwrap();
    }
    std::fs::write(far.here(".bashrc"), "mine").unwrap();
    let server = far.0.serve(0);
    let (url, port) = (server.url(""), server.port);
    let pin = url.split_once('#').unwrap().1;
    for (file, name, words, code, made) in [
        ("a", ".bashrc", &["127.0.0.1:big.iso"][..], 0, Some("big.iso")),
        ("a", ".bashrc", &["127.0.0.1:big.iso", "-o", "."], 0, Some("big.iso")),
        ("a", ".bashrc", &["127.0.0.1:one", "127.0.0.1:two", "-o", "."], 0, Some("two")),
        ("", ".ssh", &["--delete", "127.0.0.1:photos"], 0, Some("photos/a")),
        ("", ".ssh", &["127.0.0.1:music", "-o", "."], 0, Some("music/a")),
        ("", ".ssh", &["127.0.0.1:big.iso", "-o", ".ssh"], 2, None),
        ("a", "a", &["127.0.0.1:photos/"], 1, None),
        ("a", "a", &["127.0.0.1:"], 1, None),
        ("", ".ssh", &["--delete", "127.0.0.1:"], 2, None),
        ("", "home", &["--delete", "127.0.0.1:photos/.."], 2, None),
        ("", "new", &["127.0.0.1:~"], 0, Some("new/a")),
    ] {
        let says = format!(
            r#"{{"pcc_over_ssh":1,"version":"0.1.0","listening":{{"port":{port},"address":"127.0.0.1","fingerprint":"{pin}","secret":"d","file":"{file}","name":"{name}"}}}}"#
        );
        let script = format!("#!/bin/sh\nread request\necho '{says}'\ncat > /dev/null\n");
        let got = far.run_with(&script, &[&["get"], words].concat());
        assert_eq!(got.status.code(), Some(code), "{words:?}: {}", said(&got));
        if let Some(made) = made {
            assert!(same(&far.here(made), &far.0.path("served/d/a")), "{words:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(far.here(".bashrc")).unwrap(), "mine");
    for dir in [".ssh", "home"] {
        assert_eq!(std::fs::read_dir(far.here(dir)).unwrap().count(), 1, "{dir}");
    }
}

#[test]
fn a_name_is_a_name_over_ssh() {
    let far = Far::new();
    let names = [
        "%41",
        "100%",
        "50%25",
        "a%20b",
        "a%2fb",
        "%zz",
        "it's",
        "\"q\"",
        "$HOME",
        "`x`",
        "a\nb",
        "-rf",
        "a:b",
        "C#",
        "ä ö",
        "back\\slash",
        "Film [1080p].mkv",
        "br[a]",
        "open[",
        "*",
        "~",
    ];
    for name in names {
        far.0.write(&format!("served/{name}"), name.len());
    }
    let sources: Vec<_> = names.iter().map(|name| format!("localhost:./{name}")).collect();
    let words: Vec<_> = ["get"].into_iter().chain(sources.iter().map(String::as_str)).chain(["near/"]).collect();
    let got = far.run(&words);
    assert!(got.status.success(), "{}", said(&got));
    for name in names {
        assert!(same(&far.0.path("served").join(name), &far.here("near").join(name)), "{name}");
    }
    let pattern = far.run(&["get", "localhost:br[[]a]", "localhost:[C]#", "by/"]);
    assert!(
        pattern.status.success() && far.here("by/br[a]").exists() && far.here("by/C#").exists(),
        "{}",
        said(&pattern)
    );
}

#[test]
fn of_two_sources_with_one_name_the_first_stays() {
    let far = Far::new();
    for dir in ["a", "b"] {
        std::fs::create_dir(far.0.path("served").join(dir)).unwrap();
        std::fs::create_dir(far.here(dir)).unwrap();
        far.0.write(&format!("served/{dir}/x"), 1000 + dir.len() * usize::from(dir.as_bytes()[0]));
        far.0.write(&format!("client/{dir}/x"), 10);
    }
    let get = far.run(&["get", "localhost:a/x", "localhost:b/x", "c/"]);
    assert!(get.status.code() == Some(2) && said(&get).contains("another source is called `x`"), "{}", said(&get));
    assert!(!far.here("c").exists(), "nothing was moved");
    let put = far.run(&["put", "a/x", "b/x", "localhost:t/"]);
    assert!(put.status.code() == Some(2) && !far.0.path("served/t").exists(), "{}", said(&put));
    let patterns = far.run(&["get", "localhost:a/x*", "localhost:b/x*", "c/"]);
    assert_eq!(patterns.status.code(), Some(3), "{}", said(&patterns));
    assert!(same(&far.here("c/x"), &far.0.path("served/a/x")), "the first one's content stays");
}

#[test]
fn a_pcc_outside_of_the_path_is_found() {
    let far = Far::new();
    far.0.write("served/file", 1000);
    let home = far.0.path("served");
    let ssh = format!(
        "#!/bin/sh\nfor command; do :; done\nexport HOME='{0}'\ncd '{0}' && exec sh -c \"$command\"\n",
        home.display()
    );
    let ssh = far.script("plain", &ssh);
    let run = |command: &mut Command| command.args(["--ssh", &ssh, "--port-range", "20000-29999"]).output().unwrap();
    let get = |path: &Path| run(far.0.pcc(&["get", "localhost:file"]).env("PATH", path).env_remove("PCC_REMOTE"));
    // Without a `pcc` of the system.
    let path = far.0.path("path");
    std::fs::create_dir(&path).unwrap();
    std::os::unix::fs::symlink("/bin/sh", path.join("sh")).unwrap();
    if !Path::new("/usr/local/bin/pcc").exists() {
        let missing = get(&path);
        let text = said(&missing);
        assert!(missing.status.code() == Some(1) && text.contains("cat > .local/bin/pcc"), "{text}");
    }
    for dir in [".cargo/bin", ".local/bin"] {
        let dir = far.0.path("served").join(dir);
        std::fs::create_dir_all(&dir).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pcc"), dir.join("pcc")).unwrap();
        let found = get(&path);
        assert!(found.status.success(), "{}", said(&found));
        std::fs::remove_file(dir.join("pcc")).unwrap();
    }
    let named = run(far.0.pcc(&["get", "localhost:file"]).env("PCC_REMOTE", env!("CARGO_BIN_EXE_pcc")));
    assert!(named.status.success(), "{}", said(&named));
}

#[test]
fn what_a_shell_says_before_the_greeting_hurts_nothing() {
    let far = Far::new();
    far.0.write("served/file", 1000);
    let ssh = far.0.path("ssh");
    for noise in ["printf 'motd without an end'", "seq 10000", "yes | head -c 300000", "head -c 300000 /dev/zero"] {
        let script = format!("#!/bin/sh\n[ \"$1\" = -G ] || {{ {noise}; }}\nexec {} \"$@\"\n", ssh.display());
        let noisy = far.script("noisy", &script);
        for command in [&["get", "localhost:file", "--json"][..], &["put", "file", "localhost:back", "--over-ssh"]] {
            let mut run = far.0.pcc(command);
            run.args(["--ssh", &noisy, "--remote-pcc", env!("CARGO_BIN_EXE_pcc"), "--port-range", "20000-29999"]);
            let done = run.output().unwrap();
            assert!(done.status.success(), "{noise}: {}", said(&done));
        }
    }
}

#[test]
fn a_pattern_brings_what_it_matches_there() {
    let far = Far::new();
    std::fs::create_dir_all(far.0.path("served/logs/deep")).unwrap();
    for name in ["a.log", "b.log", "c.txt", ".d.log", "deep/e.log"] {
        far.0.write(&format!("served/logs/{name}"), 1000);
    }
    let got = far.run(&["get", "host:logs/*.log", "--json"]);
    assert_eq!(done(&got)["files"], 2, "{}", said(&got));
    assert!(far.here("a.log").exists() && far.here("b.log").exists() && !far.here(".d.log").exists());
    let got = far.run(&["get", "host:logs/d*", "host:logs/?.txt", "-o", "to/", "--json"]);
    assert!(
        got.status.success() && far.here("to/deep/e.log").exists() && far.here("to/c.txt").exists(),
        "{}",
        said(&got)
    );
    let none = far.run(&["get", "host:logs/*.gz"]);
    assert!(none.status.code() == Some(1) && said(&none).contains("is called like `*.gz`"), "{}", said(&none));
}

#[test]
fn a_dry_run_over_ssh_makes_nothing_there() {
    let far = Far::new();
    far.0.write("client/file", 1000);
    let run = far.run(&["put", "file", "host:made/", "-n", "--json"]);
    let done = done(&run);
    assert_eq!((&done["due"], &done["url"]), (&1.into(), &"host:made/file".into()), "{}", said(&run));
    assert!(!far.0.path("served/made").exists());
}

#[test]
fn a_killed_download_goes_on_with_the_next_one() {
    let far = Far::new();
    far.0.write("served/file", 6_000_000);
    let mut get = far.pcc(&["get", "localhost:file", "--limit", "8Mbit"]).spawn().unwrap();
    let part = far.here(".file.pcc-part");
    wait_until("a third is here", || part.metadata().is_ok_and(|part| part.len() > 2_000_000));
    get.kill().unwrap();
    get.wait().unwrap();
    far.wait_for_the_end();
    let done = done(&far.run(&["get", "localhost:file", "--json"]));
    assert!(done["resumed_from"].as_u64().unwrap() > 500_000, "{done}");
    assert!(same(&far.here("file"), &far.0.path("served/file")));
}

#[test]
fn a_directory_of_a_killed_run_is_private_until_the_next_one() {
    let far = Far::new();
    std::fs::create_dir_all(far.here("tree/sub")).unwrap();
    far.0.write("client/tree/sub/file", 6_000_000);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    let modes = |top: &Path| [mode(top), mode(&top.join("sub"))];
    let set = |top: &Path, mode| std::fs::set_permissions(top.join("sub"), PermissionsExt::from_mode(mode)).unwrap();
    set(&far.here("tree"), 0o555);
    let told = modes(&far.here("tree"));
    let is_long = |file: std::io::Result<std::fs::DirEntry>| {
        file.is_ok_and(|file| file.metadata().is_ok_and(|part| part.len() > 2_000_000))
    };
    for (words, there) in [
        (["put", "-a", "tree", "localhost:there"], far.0.path("served/there")),
        (["get", "-a", "localhost:there/", "back"], far.here("back")),
    ] {
        let mut moving = far.pcc(&[&words[..], &["--limit", "8Mbit"]].concat()).spawn().unwrap();
        wait_until("a third is there", || there.join("sub").read_dir().is_ok_and(|mut files| files.any(is_long)));
        assert_eq!(modes(&there), [0o700; 2], "{words:?}");
        moving.kill().unwrap();
        moving.wait().unwrap();
        let done = done(&far.run(&[&words[..], &["--json"]].concat()));
        assert!(done["resumed_from"].as_u64().unwrap() > 500_000, "{done}");
        assert_eq!(modes(&there), told, "{words:?}");
        assert!(same(&there.join("sub/file"), &far.here("tree/sub/file")));
    }
    // Only root removes what is in a directory that nobody may write to.
    for top in [far.here("tree"), far.0.path("served/there"), far.here("back")] {
        set(&top, 0o755);
    }
}

#[test]
fn packets_go_through_ssh_where_they_are_told_to() {
    let far = Far::new();
    far.0.write("served/file", 2_000_000);
    let get = far.run(&["get", "localhost:file", "--over-ssh", "--json"]);
    assert_eq!(done(&get)["verified"], true);
    assert!(same(&far.here("file"), &far.0.path("served/file")));
    assert!(std::fs::metadata(far.0.path("said")).unwrap().len() > 2_000_000, "ssh brought it");
    let put = far.run(&["put", "file", "localhost:back", "--over-ssh", "--json"]);
    assert_eq!(done(&put)["verified"], true);
    assert!(same(&far.here("file"), &far.0.path("served/back")));
}

#[test]
fn no_secret_is_in_messages_or_on_a_command_line() {
    let far = Far::new();
    far.0.write("client/file", 100_000);
    let put = far.run(&["put", "file", "localhost:", "-vv"]);
    assert!(put.status.success(), "{}", said(&put));
    far.keeps_its_secrets(&put);
}

#[test]
fn a_name_that_only_ssh_knows_is_replaced_by_the_address() {
    let far = Far::new();
    far.0.write("served/file", 1000);
    for host in ["alias", "behind-a-jump-host.invalid"] {
        let done = done(&far.run(&["get", &format!("{host}:file"), "-o", host, "--json"]));
        assert_eq!(done["verified"], true, "{host}");
    }
}

#[test]
fn what_is_not_there_is_told_by_the_far_side() {
    let far = Far::new();
    let get = far.run(&["get", "localhost:none"]);
    assert!(get.status.code() == Some(1) && said(&get).contains("localhost: could not read none"), "{}", said(&get));
    assert_eq!(said(&get).matches("could not read none").count(), 1, "it is told once: {}", said(&get));
    let port = far.run(&["get", "localhost:4433"]);
    assert!(said(&port).contains("a server's URL is https://localhost:4433/"), "{}", said(&port));
    far.0.write("client/file", 10);
    let put = far.run(&["put", "file", "localhost:no/such/place"]);
    assert!(put.status.code() == Some(1) && said(&put).contains("make it first"), "{}", said(&put));
    let put = far.run(&["put", "nothing", "localhost:"]);
    assert!(put.status.code() == Some(1) && said(&put).contains("could not read nothing"), "{}", said(&put));
}

#[test]
fn each_failure_of_ssh_says_what_to_do() {
    let far = Far::new();
    let silent = r#"echo '{"pcc_over_ssh":1,"version":"0","listening":{"port":1,"fingerprint":"sha256=0000000000000000000000000000000000000000000000000000000000000000","secret":"a","file":"x","name":"x"}}'; cat > /dev/null"#;
    for (script, code, words) in [
        ("exec no-such-pcc", 1, "/usr/local/bin: install it there, for example with"),
        ("exit 126", 1, "cannot be run"),
        ("echo 'Permission denied (publickey).' >&2; exit 255", 5, "says above why"),
        ("echo Permission denied >&2; exit 255", 5, "Permission denied"),
        ("read -r line; exit 2", 1, "too old"),
        (r#"echo '{"pcc_over_ssh":9,"version":"7.7.7"}'"#, 1, "is version 7.7.7"),
        ("echo This account is not available; exit 1", 1, "said `This account is not available`"),
        (
            "yes | head -c 300000",
            1,
            "said `y`: is it this pcc? Or the shell there prints that before pcc: see its .bashrc",
        ),
        (silent, 5, "let UDP 60000-61000 in there (`sudo ufw allow 60000:61000/udp`)"),
    ] {
        let get = far.run_with(&format!("#!/bin/sh\n{script}\n"), &["get", "localhost:x"]);
        assert!(get.status.code() == Some(code) && said(&get).contains(words), "{script}: {}", said(&get));
    }
    let get = far.0.run(&["get", "localhost:x", "--ssh", "/no/such/ssh"]);
    assert!(get.status.code() == Some(1) && said(&get).contains("name another command with --ssh"), "{}", said(&get));
}

#[test]
fn a_request_of_another_kind_is_answered_in_words() {
    let bench = Bench::new();
    for (asked, words) in [
        ("", "nobody asked for anything"),
        ("hello\n", "no request of `pcc get`"),
        ("{\"pcc_over_ssh\":2}\n", "install one version on both"),
        (
            "{\"pcc_over_ssh\":1,\"wish\":{\"get\":\".\"},\"ports\":{\"first\":9,\"last\":3},\"patience_s\":1,\"through_ssh\":false}\n",
            "are no ports",
        ),
    ] {
        std::fs::write(bench.path("asked"), asked).unwrap();
        let input = std::fs::File::open(bench.path("asked")).unwrap();
        let far = bench.pcc(&["serve", "--once-over-ssh"]).stdin(input).output().unwrap();
        let told: Value = serde_json::from_slice(&far.stdout).unwrap();
        assert!(told["refused"]["reason"].as_str().unwrap().contains(words), "{told}");
        assert!(!far.status.success());
    }
}

#[test]
#[ignore = "needs openssh-server; `.ci/steps` runs it where that is installed"]
fn a_real_sshd_starts_the_far_side_and_ends_it() {
    let bench = Bench::new();
    let sshd = Sshd::start(&bench);
    let run = |arguments: &[&str]| {
        let remote = ["--ssh", &sshd.ssh, "--remote-pcc", env!("CARGO_BIN_EXE_pcc"), "--port-range", "20000-29999"];
        bench.pcc(&[arguments, &remote[..]].concat()).output().unwrap()
    };
    let data = bench.write("served/a 'file", 3_000_000);
    let from = format!("127.0.0.1:{}", bench.path("served/a 'file").display());
    for more in [&[][..], &["--over-ssh"]] {
        let get = run(&[&["get", &from, "-o", "here", "--json"], more].concat());
        assert_eq!(done(&get)["verified"], true);
        assert!(std::fs::read(bench.path("client/here")).unwrap() == data);
        std::fs::remove_file(bench.path("client/here")).unwrap();
    }
    bench.write("client/up", 500_000);
    let into = format!("127.0.0.1:{}/new/", bench.path("served").display());
    assert_eq!(done(&run(&["put", "up", &into, "--json"]))["verified"], true);
    assert!(same(&bench.path("client/up"), &bench.path("served/new/up")));
    let none = run(&["get", "127.0.0.1:/no/such/file"]);
    assert!(none.status.code() == Some(1) && said(&none).contains("could not read /no/such/file"), "{}", said(&none));
    let missing = bench.pcc(&["get", &from, "--ssh", &sshd.ssh, "--remote-pcc", "no-such-pcc"]).output().unwrap();
    assert!(said(&missing).contains("there is no `no-such-pcc` on 127.0.0.1: --remote-pcc"), "{}", said(&missing));
    let refused = bench.pcc(&["get", "127.0.0.1:x", "--ssh", "ssh -F none -p 1 -o BatchMode=yes"]).output().unwrap();
    assert!(refused.status.code() == Some(5) && said(&refused).contains("Connection refused"), "{}", said(&refused));
}
