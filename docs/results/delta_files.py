"""Three kinds of files that change a little, each before and after: the same from run to run.

    docs/results/delta_files.py DIR    writes image, mailbox and dump, each with .old and .new
"""

import base64
import pathlib
import random
import subprocess
import sys

WORDS = [
    "".join(random.Random(number).choices("etaoinshrdlucmfwyp", k=2 + number % 8)) for number in range(4000)
]


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def mail(rng: random.Random, number: int) -> bytes:
    head = f"From a{number % 97}@example.org\nMessage-ID: <{rng.getrandbits(64):x}@example.org>\nSubject: {text(rng, 6)}\n\n"
    body = "\n".join(text(rng, 12) for _ in range(rng.randrange(5, 60)))
    attached = ""
    if number % 5 == 0:
        attached = base64.encodebytes(rng.randbytes(rng.randrange(20_000, 200_000))).decode()
    return f"{head}{body}\n{attached}\n".encode()


def mailbox(dir: pathlib.Path) -> None:
    """3000 mails, of which 40 go, and to which 60 come."""
    rng = random.Random("mailbox")
    mails = [mail(rng, number) for number in range(3000)]
    gone = set(rng.sample(range(500, 2500), 40))
    came = [mail(rng, number) for number in range(3000, 3060)]
    (dir / "mailbox.old").write_bytes(b"".join(mails))
    kept = [one for number, one in enumerate(mails) if number not in gone]
    (dir / "mailbox.new").write_bytes(b"".join(kept + came))


def row(rng: random.Random, number: int) -> str:
    return f"INSERT INTO orders VALUES ({number},'{text(rng, 3)}',{rng.randrange(10**7)},'2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}','{text(rng, 14)}');\n"


def dump(dir: pathlib.Path) -> None:
    """600,000 rows, of which 300 change where they stand; 2000 come behind them and 100 between them."""
    rng = random.Random("dump")
    rows = [row(rng, number) for number in range(600_000)]
    (dir / "dump.old").write_text("".join(rows))
    for number in rng.sample(range(len(rows)), 300):
        rows[number] = row(rng, number)
    for number in sorted(rng.sample(range(len(rows)), 100), reverse=True):
        rows.insert(number, row(rng, 10**6 + number))
    rows += [row(rng, 2 * 10**6 + number) for number in range(2000)]
    (dir / "dump.new").write_text("".join(rows))


def image(dir: pathlib.Path) -> None:
    """A file system of 128 MiB with 900 files, of which 40 get a new content and 10 go, and to which 10 come."""
    rng = random.Random("image")

    def content(number: int) -> bytes:
        size = rng.randrange(1000, 250_000)
        return rng.randbytes(size) if number % 2 else text(rng, size // 6).encode()

    files = dir / "files"
    files.mkdir()
    for number in range(900):
        (files / f"{number}").write_bytes(content(number))
    old, new = dir / "image.old", dir / "image.new"
    fixed = {"SOURCE_DATE_EPOCH": "1750000000", "E2FSPROGS_FAKE_TIME": "1750000000", "PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}
    made = ["mke2fs", "-q", "-t", "ext4", "-F", "-d", str(files), "-U", "5a1c9a44-58b9-4b0e-9d5a-6a2a16c0c0de"]
    made += ["-E", "hash_seed=5a1c9a44-58b9-4b0e-9d5a-6a2a16c0c0de,root_owner=0:0", str(old), "128M"]
    subprocess.run(made, check=True, env=fixed, stdout=subprocess.DEVNULL)
    new.write_bytes(old.read_bytes())
    commands = []
    for number in rng.sample(range(900), 50):
        commands.append(f"rm {number}")
        if number % 5:
            (files / f"{number}").write_bytes(content(number))
            commands.append(f"write {files}/{number} {number}")
    for number in range(900, 910):
        (files / f"{number}").write_bytes(content(number))
        commands.append(f"write {files}/{number} {number}")
    script = dir / "commands"
    script.write_text("\n".join(commands))
    subprocess.run(["debugfs", "-w", "-f", str(script), str(new)], check=True, env=fixed, capture_output=True)
    subprocess.run(["rm", "-r", str(files), str(script)], check=True)


def make(dir: pathlib.Path) -> None:
    for kind in (image, mailbox, dump):
        kind(dir)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
