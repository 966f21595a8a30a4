#!/usr/bin/env python3
"""Files over ssh, through the tunnel and by a code, beside rsync, scp, plain TCP, croc and magic-wormhole: docs/results/transfers.md.

    sudo env PATH="$PATH" python3 docs/results/transfers.py target/release/pcc >docs/results/transfers.md

Everything runs in a network namespace of its own: sshd, a web server, `pcc serve` and senders by a code at one end, the transfer behind
`pcc shell` at the other. It needs root, OpenSSH's server, rsync, curl, ip and ss. The page says how to get croc and magic-wormhole, and
which one was not there.
"""
import contextlib
import functools
import glob
import http.server
import os
import re
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

PATHS = ["lossy", "satellite"]
CODE_PATHS = [*PATHS, "clean"]
SIZE = 20_000_000  # bytes
LONGEST = 30  # seconds; what has arrived by then counts
RUNS = 3
TOKEN = "correct-horse"

# How ssh connects: with CUBIC, whatever the system's default is, for what is sent to the host.
NEAR = """
import socket, sys
connection = socket.socket()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
connection.connect((sys.argv[1], int(sys.argv[2])))
socket.send_fds(socket.socket(fileno=1), [b"0"], [connection.fileno()])
"""

# The far end of `pcc shell`: always this address in a network namespace of its own.
OUTSIDE = "198.18.0.1"


class Way(NamedTuple):
    """A row of a table."""
    name: str
    command: str  # at the near end
    files: list  # one of them grows where the file arrives
    before: str = ":"  # at the near end, too, and not counted
    far: str = ""  # what runs at the far end, beside what `servers` starts
    needs: tuple = ()  # programs that not everybody has


WAYS = [
    Way("`pcc get HOST:file`", "{pcc} get --quiet --no-path-memory {outside}:{dir}/file -o {to}/file --ssh {ssh} --remote-pcc {pcc}", [".file.pcc-part", "file"]),
    Way("`rsync` over ssh", "rsync --inplace -e {ssh} {outside}:{dir}/file {to}/file", ["file"]),
    Way("`scp`", "{scp} {outside}:{dir}/file {to}/file", ["file"]),
    Way("`pcc put file HOST:`", "{pcc} put --quiet --no-path-memory {dir}/file {outside}:{to}/ --ssh {ssh} --remote-pcc {pcc}", [".pcc-upload-*", "file"]),
    Way("`rsync` over ssh, to the host", "rsync --inplace -e {ssh} {dir}/file {outside}:{to}/file", ["file"]),
    Way("`scp`, to the host", "{scp} {dir}/file {outside}:{to}/file", ["file"]),
    Way("`curl` through `pcc tunnel`", "curl -s http://127.0.0.1:9000/file -o {to}/file", ["file"],
        before="{pcc} tunnel --quiet --no-path-memory -L 9000:127.0.0.1:8000 {url} & sleep 5"),
    Way("`curl` over plain TCP, CUBIC", "curl -s http://{outside}:8000/file -o {to}/file", ["file"]),
    Way("`curl` over plain TCP, BBR", "curl -s http://{outside}:8001/file -o {to}/file", ["file"]),
]


def said(sign):
    """Waits until a sender has said its code, and has had time to tell its relay. Nobody answers for name servers here: without a route to
    them a lookup fails at once, where croc would wait for a second."""
    return f"ip route del default; timeout 20 sh -c 'until grep -qs \"{sign}\" {{to}}/said; do sleep 0.1; done' || exit 9; sleep 2"


def listens(port):
    return f"until ss -Hltn 'sport = :{port}' | grep -q .; do sleep 0.1; done; "


def congestion(algorithm):
    """What TCP sends by at the far end, whatever the system's default is: not each can be the default of a namespace."""
    return f"ip route | while read -r route; do ip route change $route congctl {algorithm}; done; "


def by_pcc():
    relay = "{pcc} relay & " + listens(3340)
    return Way("`pcc send file`, `pcc get CODE`", "{pcc} get --quiet $(sed -n 's/^  pcc get //p' {to}/said) {to}/", [".file.pcc-part", "file"],
               said("pcc get"), congestion("cubic") + relay + "{pcc} send --relay {outside}:3340 {dir}/file >{to}/said")


def by_croc(algorithm):
    relay = "croc relay --port 9100 & " + listens(9100)
    croc = "CROC_SECRET=4417-transfer-by-code croc --relay {outside}:9100"
    return Way(f"`croc` with {algorithm.upper()}", f"cd {{to}} && {croc} --yes", ["file"], said("Code is"),
               congestion(algorithm) + relay + croc + " --ignore-stdin --disable-clipboard send {dir}/file >{to}/said 2>&1", ("croc",))


def by_wormhole(algorithm):
    servers = "twist wormhole-mailbox --channel-db :memory: --port tcp:4000 & twist transitrelay --port tcp:4001 & " + listens(4000) + listens(4001)
    wormhole, code = "wormhole --relay-url ws://{outside}:4000/v1 --transit-helper tcp:{outside}:4001", "7-crossover-clockwork"
    return Way(f"`wormhole` with {algorithm.upper()}", f"cd {{to}} && {wormhole} receive --accept-file --hide-progress {code}", ["file.tmp", "file"],
               said("code is"),
               f"{congestion(algorithm)}{servers}{wormhole} send --no-qr --hide-progress --code {code} {{dir}}/file >{{to}}/said 2>&1",
               ("wormhole", "twist"))


CODES = [by_pcc(), by_croc("cubic"), by_wormhole("cubic"), by_croc("bbr"), by_wormhole("bbr")]


def started(command, **more):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def listener(port, algorithm):
    """A socket whose connections have this congestion control, whatever the system's default is."""
    listening = socket.create_server(("", port))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    return listening


def web_server(place, port, algorithm):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=place)
    handler.func.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("", port), handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener(port, algorithm)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def sshd(place, port, algorithm):
    """One sshd a connection, as inetd starts it."""
    def serve(listening):
        while True:
            connection, _ = listening.accept()
            subprocess.Popen(["/usr/sbin/sshd", "-i", "-f", f"{place}/config"], stdin=connection, stdout=connection, stderr=subprocess.DEVNULL)
            connection.close()
    threading.Thread(target=serve, args=[listener(port, algorithm)], daemon=True).start()


def servers(pcc, place):
    """sshd, a web server and `pcc serve`, with the command that reaches the first and the URL of the last."""
    os.makedirs("/run/sshd", exist_ok=True)
    for key in ["host_key", "user_key"]:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{place}/{key}"], check=True)
    with open(f"{place}/config", "w") as config:
        config.write(f"HostKey {place}/host_key\nAuthorizedKeysFile {place}/user_key.pub\nPidFile none\nStrictModes no\n"
                     "UsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n")
    with open(f"{place}/client", "w") as client:
        client.write(f"IdentityFile {place}/user_key\nBatchMode yes\nLogLevel ERROR\nStrictHostKeyChecking no\n"
                     f"UserKnownHostsFile /dev/null\nProxyCommand {sys.executable} {place}/near %h %p\nProxyUseFdpass yes\n")
    with open(f"{place}/near", "w") as near:
        near.write(NEAR)
    options = f"-F {place}/client"
    sshd(place, 2222, "cubic")
    web_server(place, 8000, "cubic")
    web_server(place, 8001, "bbr")
    serve = started([pcc, "serve", "--tunnel", "--allow", "127.0.0.1:8000", "--listen", "0.0.0.0:4433", "--quiet", "--no-path-memory"],
                    stdout=subprocess.PIPE, text=True, env={**os.environ, "PCC_TOKEN": TOKEN, "XDG_STATE_HOME": place})
    fingerprint = None
    while fingerprint is None:
        fingerprint = re.search("#(sha256=[0-9a-f]+)", serve.stdout.readline())
    return serve, f"ssh -p 2222 {options}", f"scp -q -P 2222 {options}", f"https://{OUTSIDE}:4433/#{fingerprint[1]}"


class Run(NamedTuple):
    arrived: int  # bytes
    seconds: float
    silence: float  # of these, before the first byte is in a file

    def goodput(self, since=0):
        """Mbit/s, from so many seconds on."""
        return self.arrived * 8e-6 / max(self.seconds - since, 0.001)


def run(pcc, path, way, place, words):
    with tempfile.TemporaryDirectory(dir=place) as to:
        words = {"pcc": shlex.quote(pcc), "outside": OUTSIDE, "dir": place, "to": to, **words}
        counted = f"timeout {LONGEST} bash -c {shlex.quote(way.command.format(**words))}"
        near = f"{way.before.format(**words)}\ntouch {to}/begun\n{counted}; code=$?\ntouch {to}/ended; kill $! 2>/dev/null\nexit $code"
        far = ["--outside", way.far.format(**words)] if way.far else []
        # A file, not a pipe: an scp that outlives its path would hold the pipe open.
        with open(f"{to}/trouble", "w+") as trouble:
            shell = subprocess.Popen([pcc, "shell", path, *far, "--", "bash", "-c", near], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=trouble, env={**os.environ, "PCC_TOKEN": TOKEN, "HOME": place, "XDG_STATE_HOME": place})
            first = None
            while shell.poll() is None:
                time.sleep(0.02)
                first = first or (time.time() if arrived(to, way) else None)
            trouble.seek(0)
            if shell.returncode not in (0, 124):
                sys.exit(f"{way.name}: exit code {shell.returncode} of\n{near}\n{trouble.read()}")
        begun, ended = (os.stat(f"{to}/{stamp}").st_mtime for stamp in ["begun", "ended"])
        done = Run(arrived(to, way), ended - begun, min(first or ended, ended) - begun)
        print(f"{path}, {way.name}: {done.arrived} bytes in {done.seconds:.1f} s, the first after {done.silence:.1f} s", file=sys.stderr)
        return done


def arrived(to, way):
    """Bytes written: croc's file has its length from the beginning, with holes."""
    most = 0
    for found in [found for file in way.files for found in glob.glob(f"{to}/{file}")]:
        with contextlib.suppress(FileNotFoundError):  # it has just got its name
            stat = os.stat(found)
            most = max(most, min(stat.st_size, 512 * stat.st_blocks))
    return most


def is_here(way):
    return all(shutil.which(program) for program in way.needs)


def in_turns(pcc, ways, paths, place, words):
    """Of each path and way its runs; none of a way whose program is not here."""
    results = {(path, way.name): [] for path in paths for way in ways}
    for path in paths:
        for _ in range(RUNS):
            for way in filter(is_here, ways):
                results[path, way.name].append(run(pcc, path, way, place, words))
    return results


def measure(pcc):
    """The runs of both tables."""
    with tempfile.TemporaryDirectory() as place:
        with open(f"{place}/file", "wb") as file:
            file.write(os.urandom(SIZE))
        serve, ssh, scp, url = servers(pcc, place)
        words = {"ssh": shlex.quote(ssh), "scp": scp, "url": shlex.quote(url)}
        try:
            time.sleep(1)
            return [in_turns(pcc, ways, paths, place, words) for ways, paths in [(WAYS, PATHS), (CODES, CODE_PATHS)]]
        finally:
            serve.terminate()


def goodput(results, path, way):
    return statistics.median(run.goodput() for run in results[path, way.name])


def cell(results, path, way):
    values = [run.goodput() for run in results[path, way.name]]
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else "not on this computer"


def ssh_and_tunnel(results):
    """The first table, and what follows from it."""
    print(f"| | {' | '.join(f'`{path}`' for path in PATHS)} |\n|---|{'---|' * len(PATHS)}")
    for way in WAYS:
        print(f"| {way.name} | {' | '.join(cell(results, path, way) for path in PATHS)} |")
    for path in PATHS:
        median = [goodput(results, path, way) for way in WAYS]
        print(f"\nOn `{path}` `pcc get` moves {median[0] / median[1]:.1f} times as much as rsync, and `pcc put` {median[3] / median[4]:.1f} times. "
              f"The tunnel moves {median[6] / median[7]:.1f} times as much as plain TCP with CUBIC, and {median[6] / median[8]:.2f} times as much "
              f"as with BBR.")


def by_code(results):
    """The second table, and what follows from it."""
    def middle(path, way, figure):
        return f"{statistics.median(map(figure, results[path, way.name])):.1f}" if is_here(way) else "–"

    def spoken(run):
        return run.goodput(run.silence)

    print(f"| | {' | '.join(f'`{path}` | silence, s' for path in CODE_PATHS)} |\n|---|{'---|--:|' * len(CODE_PATHS)}")
    for way in CODES:
        print(f"| {way.name} | {' | '.join(f'{cell(results, path, way)} | {middle(path, way, lambda run: run.silence)}' for path in CODE_PATHS)} |")
    pcc, *others = CODES
    others = list(filter(is_here, others))
    for path in CODE_PATHS:
        times = [(goodput(results, path, pcc) / goodput(results, path, way), way.name) for way in others]
        times = [f"{ratio:.{1 if ratio < 9.95 else 0}f} times as much as {name}" for ratio, name in times]
        print(f"\nOn `{path}` `pcc get CODE` moves {', '.join(times)}." if times else "")
    print(f"\nFrom the first byte on, Mbit/s:\n\n| | {' | '.join(f'`{path}`' for path in CODE_PATHS)} |\n|---|{'--:|' * len(CODE_PATHS)}")
    for way in CODES:
        print(f"| {way.name} | {' | '.join(middle(path, way, spoken) for path in CODE_PATHS)} |")
    ahead = [f"{way.name} on `{path}`" for path in CODE_PATHS for way in others if float(middle(path, way, spoken)) > float(middle(path, pcc, spoken))]
    print(f"\nThere `pcc get CODE` is behind {', '.join(ahead)}." if ahead else "")
    seconds, silence = (middle("satellite", pcc, figure) for figure in [lambda run: run.seconds, lambda run: run.silence])
    print(f"""
Other limits than the path:

* **Connections.** croc spreads a file over four TCP connections, and wormhole has one. Where losses are random, four have up to four times the
  rate.
* **Silence.** On `satellite`, where a round trip takes 0.8 s, it is handshakes in a row. wormhole's on the other paths is mostly Python's
  start.
* **PCC's own delays.** `satellite` could carry the file in {SIZE * 8e-6 / 42:.1f} s, and `pcc get CODE` takes {seconds} s. The silence has {silence} s of
  them, and the farewell behind the last byte three round trips. In between the rate begins low, and doubles.
* **Relays.** `pcc get CODE` begins through its relay, over TCP with CUBIC, and goes on directly. wormhole connects directly. croc's sender
  is a relay, too, and the file comes from there. On `satellite` that one has not answered in 0.5 s, and the file comes by the other.
* **Hashing.** croc's sender hashes the file before it says the code, and that does not count.
* **Names.** There is no name server, and no route to one. croc looks for its authors' relays even if it is told another one, and fails at once.""")


def version(program):
    """Of a program here: a commit or a number."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout if shutil.which(program) else ""
    found = re.search("commit ([0-9a-f]{8})", said) or re.search(r"(\d[\d.]*\d)", said)
    return found[1] if found else "(not on this computer)"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pcc = os.path.realpath(sys.argv[1])
    if os.environ.get("PCC_TRANSFERS") != "inside":
        inside = "ip link set lo up && exec " + shlex.join([sys.executable, __file__, pcc])
        sys.exit(subprocess.run(["unshare", "--net", "sh", "-c", inside], env={**os.environ, "PCC_TRANSFERS": "inside"}).returncode)
    load = os.getloadavg()[0]
    results = measure(pcc)
    print(f"""# Transfers over ssh, through the tunnel, and by a code

`sudo env PATH="$PATH" python3 docs/results/transfers.py target/release/pcc` makes this page, here of commit {version(pcc)}. A file of
{SIZE // 1_000_000} MB goes over an emulated path in real time. The figure is goodput in Mbit/s: the median of {RUNS} runs in turns, with the least and
the most. A run ends after {LONGEST} s, and what has arrived by then counts. Time before the first byte counts, ssh's login too. The tunnel is
connected before. ssh, scp and rsync have the kernel's CUBIC, Linux's default. The load was {load:.0f} at the beginning and {os.getloadavg()[0]:.0f} at the end,
on {os.cpu_count()} processors. The load costs PCC most, since it runs outside of the kernel.

## Over ssh and through the tunnel
""")
    ssh_and_tunnel(results[0])
    print(f"""
## By a code

`pcc send` beside [croc](https://github.com/schollz/croc) {version("croc")} and
[magic-wormhole](https://github.com/magic-wormhole/magic-wormhole) {version("wormhole")}. To get them:
`go install github.com/schollz/croc/v10@latest`, and in a virtual environment of Python
`pip install magic-wormhole magic-wormhole-mailbox-server magic-wormhole-transit-relay`. They are looked for in `PATH`.

The sender waits and has said its code. The clock runs from the receiver's start to its end. *Silence* is the median time before the first
byte is in a file. Each program has a relay of its own on the sender's computer, so that nothing crosses the path twice. croc and wormhole
run over TCP, with CUBIC as Linux has it, or with BBR as an administrator can set it. No other options are set. `clean` is `lossy` without
its losses.
""")
    by_code(results[1])


if __name__ == "__main__":
    main()
