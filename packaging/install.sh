#!/bin/sh
# sh install.sh URL [DIRECTORY]: installs `pcc` of this release into DIRECTORY, ~/.local/bin without one.
#
# URL is the directory where the release's files are. The file for this computer is compared with the checksum below, so nothing of another
# origin is installed by a script that is right. packaging/release writes version and checksums.
set -eu
version=@VERSION@
sums() {
    cat <<'END'
@SUMS@
END
}

fail() { echo "install.sh: $*" >&2 && exit 1; }
[ $# -ge 1 ] || fail "where from? Write: sh install.sh URL [DIRECTORY]"
to=${2:-$HOME/.local/bin}
[ "$(uname -s)" = Linux ] || fail "there is no file for $(uname -s): build pcc from a clone, as README.md says"
name=pcc-transport-$version-$(uname -m)-linux
sum=$(sums | sed -n "s/^\([0-9a-f]*\)  $name\.tar\.gz$/\1/p")
[ -n "$sum" ] || fail "there is no file for $(uname -m): build pcc from a clone, as README.md says"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v curl >/dev/null; then
    curl -fsSL "$1/$name.tar.gz" -o "$work/tar.gz" || fail "could not fetch $1/$name.tar.gz"
else
    wget -qO "$work/tar.gz" "$1/$name.tar.gz" || fail "could not fetch $1/$name.tar.gz with wget, and there is no curl"
fi
echo "$sum  $work/tar.gz" | sha256sum -c - >/dev/null 2>&1 ||
    fail "$1/$name.tar.gz is not the file of this release: its SHA-256 is not $sum. Nothing was installed"
tar -xzf "$work/tar.gz" -C "$work"
mkdir -p "$to"
# A running pcc goes on with the old file.
cp "$work/$name/pcc" "$to/pcc.new" && mv "$to/pcc.new" "$to/pcc"
"$to/pcc" --version
case :$PATH: in *:"$to":*) ;; *) echo "$to is not in PATH: add it, or call $to/pcc" ;; esac
