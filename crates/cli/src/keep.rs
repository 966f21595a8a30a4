//! The options about times, permissions and the like, by rsync's letters.

use pcc_files::{Chmod, Deltas, Keeps};

/// Options about what is kept besides names and contents.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is kept")]
pub(crate) struct KeepArgs {
    /// Keep links, permissions, times, groups and owners, of files and directories: -rlptgo
    ///
    /// Files that are there already with the same content get these, too, and are not sent again. The -a of rsync has -D besides:
    /// devices, pipes and sockets are not moved here.
    #[arg(short, long)]
    archive: bool,

    /// Keep times of modification; a downloaded file has its server's time in any case
    #[arg(short = 't', long)]
    times: bool,

    /// Keep permissions of owner, group and others
    ///
    /// Setuid, setgid and sticky bits are never kept.
    #[arg(short = 'p', long = "perms")]
    permissions: bool,

    /// Change the permissions that are kept, for example `D755,F644` or `go-w,a+X`
    ///
    /// The changes are rsync's: `D` in front is for directories, `F` for files, and `X` is execution where somebody has it, and
    /// of directories. Needs -p or -a.
    #[arg(long, value_name = "CHANGES")]
    chmod: Vec<Chmod>,

    /// Keep symbolic links of a directory, as links
    ///
    /// Without it `pcc get` brings what they lead to, and `pcc put` leaves them out. Links that lead out of the directory come over ssh only.
    #[arg(short = 'l', long)]
    links: bool,

    /// Send or bring what symbolic links lead to, as files and directories
    ///
    /// `pcc put` follows links wherever they lead. `pcc get` brings what a link leads to unless -a or -l keeps links, and a server follows
    /// those alone that stay inside of what it serves.
    #[arg(short = 'L', long)]
    copy_links: bool,

    /// Leave out links that lead out of the directory, over ssh, too
    #[arg(long)]
    safe_links: bool,

    /// Keep the names of one file as names of one file
    #[arg(short = 'H', long)]
    hard_links: bool,

    /// Keep owners, over ssh, where the receiver is root
    #[arg(long)]
    pub(crate) owner: bool,

    /// Keep groups, over ssh, where the receiver is root or one of their members
    #[arg(short = 'g', long)]
    group: bool,

    /// Keep extended attributes, over ssh, between computers with Linux
    ///
    /// Those whose names begin with `user.`; with root on both sides, also those with `trusted.`. No others move, such as capabilities. A
    /// file has at most 7.5 KB of them. A file system without any gets none, and a warning says so.
    #[arg(short = 'X', long)]
    xattrs: bool,

    /// Keep permissions and access control lists, over ssh, between computers with Linux
    ///
    /// Those of files, and those that directories have for new entries. Users and groups go by name, where both computers have the name,
    /// and otherwise by number. A file has at most 10 KiB of them as text: some 400 entries. A file system without any gets none, and a
    /// warning says so.
    #[arg(short = 'A', long)]
    acls: bool,

    /// Owners, groups and those in access control lists by number; otherwise by name, where both computers have the name
    #[arg(long)]
    numeric_ids: bool,

    /// Stretches of zeros take no room at the destination
    #[arg(short = 'S', long)]
    sparse: bool,

    /// Compress on the way, where contents shrink and the network is what limits
    ///
    /// zstd at its fastest. Compressed files and fast networks are left as they are. A side that is too old for it sends everything as it is.
    #[arg(short = 'z', long, help_heading = "Sending")]
    compress: bool,

    /// Send a file that changed as a whole, and not only what the old one at the destination lacks
    #[arg(short = 'W', long, help_heading = "Sending", overrides_with = "no_whole_file")]
    whole_file: bool,

    /// Compare a file that changed with the old one before anything is sent
    ///
    /// Otherwise both files are read while the transfer goes on, and a network that brings more than a tenth of what reading does gets
    /// the file whole. This sends least.
    #[arg(long, alias = "no-W", overrides_with = "whole_file", help_heading = "Sending", hide_short_help = true)]
    no_whole_file: bool,

    /// Take times back from -a
    #[arg(long, alias = "no-t", hide_short_help = true)]
    no_times: bool,

    /// Take permissions back from -a
    #[arg(long, alias = "no-p", hide_short_help = true)]
    no_perms: bool,

    /// Take links back from -a
    #[arg(long, alias = "no-l", hide_short_help = true)]
    no_links: bool,

    /// Take owners back from -a
    #[arg(long, alias = "no-o", hide_short_help = true)]
    no_owner: bool,

    /// Take groups back from -a
    #[arg(long, alias = "no-g", hide_short_help = true)]
    no_group: bool,
}

impl KeepArgs {
    /// All of it.
    pub(crate) fn keeps(&self, over_ssh: bool) -> Keeps {
        Keeps {
            times: (self.archive || self.times) && !self.no_times,
            permissions: (self.archive || self.permissions || self.acls) && !self.no_perms,
            xattrs: self.xattrs,
            acls: self.acls,
            links: (self.archive || self.links) && !self.no_links && !self.copy_links,
            copy_links: self.copy_links,
            links_out: over_ssh && !self.safe_links,
            hard_links: self.hard_links,
            owner: (self.archive || self.owner) && !self.no_owner,
            group: (self.archive || self.group) && !self.no_group,
            numeric_ids: self.numeric_ids,
            sparse: self.sparse,
            compress: self.compress,
            deltas: match (self.whole_file, self.no_whole_file) {
                (true, _) => Deltas::Never,
                (_, true) => Deltas::Always,
                _ => Deltas::WhereTheyPay,
            },
            chmod: self.chmod.iter().cloned().fold(Chmod::default(), Chmod::and),
        }
    }

    /// Whether anything is to be kept that moves over ssh alone, and that a user would miss.
    pub(crate) const fn needs_ssh(&self) -> bool {
        self.xattrs || self.acls
    }

    /// Why these options do not go together.
    pub(crate) fn answer(&self) -> Option<&'static str> {
        if self.acls && self.no_perms {
            return Some("-A: an access control list has the permissions in it: leave out -A or --no-perms");
        }
        let is_idle = !self.chmod.is_empty() && !self.keeps(false).permissions;
        is_idle.then_some("--chmod changes the permissions that are kept: add -p or -a")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        keep: KeepArgs,
    }

    #[test]
    fn letters_add_and_no_takes_back() {
        for (words, times, permissions) in [
            ("", false, false),
            ("-a", true, true),
            ("-t", true, false),
            ("-p", false, true),
            ("-tp", true, true),
            ("-a --no-times", false, true),
            ("--no-p -a", true, false),
            ("-A", false, true),
            ("-X", false, false),
        ] {
            let keep = Line::parse_from(format!("x {words}").split_whitespace()).keep;
            let keeps = keep.keeps(true);
            assert_eq!((keeps.times, keeps.permissions), (times, permissions), "{words}");
        }
        let keep = |words: &str| Line::parse_from(words.split(' ')).keep;
        let all = keep("x -aHS --numeric-ids").keeps(true);
        assert!(
            all.links && all.links_out && all.hard_links && all.owner && all.group && all.numeric_ids && all.sparse
        );
        let some = keep("x -a --no-o --no-g --no-links").keeps(false);
        assert!(!some.links && !some.links_out && !some.owner && !some.group && some.times);
        let followed = keep("x -aL").keeps(true);
        assert!(followed.copy_links && !followed.links && followed.times);
        assert!(!keep("x -l --safe-links").keeps(true).links_out);
        for (words, deltas) in [
            ("x -t", Deltas::WhereTheyPay),
            ("x -W", Deltas::Never),
            ("x --no-W", Deltas::Always),
            ("x -W --no-whole-file", Deltas::Always),
            ("x --no-whole-file -W", Deltas::Never),
        ] {
            assert_eq!(keep(words).keeps(true).deltas, deltas, "{words}");
        }
        let answer = |words: &str| keep(words).answer();
        assert!(answer("x -t --chmod go-w").is_some() && answer("x -a --chmod go-w").is_none());
        assert!(answer("x -aA --no-p").is_some() && answer("x -A --chmod go-w").is_none());
    }
}
