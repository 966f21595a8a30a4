#!/usr/bin/env python3
"""Files over ssh and through the tunnel beside rsync, scp and plain TCP: the table of docs/results/transfers.md.

    sudo python3 docs/results/transfers.py target/release/pcc >docs/results/transfers.md

Everything runs in a network namespace of its own: sshd, a web server and `pcc serve` at one end, the transfer behind `pcc shell`
at the other. It needs root, OpenSSH's server, rsync and curl.
"""
import functools
import glob
import http.server
import os
import re
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PATHS = ["lossy", "satellite"]
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

# What a row is called, the command at the near end, and the files of which one grows at the end where it arrives.
WAYS = [
    ("`pcc get HOST:file`", "{pcc} get --quiet --no-path-memory {outside}:{dir}/file -o {to}/file --ssh {ssh} --remote-pcc {pcc}", [".file.pcc-part", "file"]),
    ("`rsync` over ssh", "rsync --inplace -e {ssh} {outside}:{dir}/file {to}/file", ["file"]),
    ("`scp`", "{scp} {outside}:{dir}/file {to}/file", ["file"]),
    ("`pcc put file HOST:`", "{pcc} put --quiet --no-path-memory {dir}/file {outside}:{to}/ --ssh {ssh} --remote-pcc {pcc}", [".pcc-upload-*", "file"]),
    ("`rsync` over ssh, to the host", "rsync --inplace -e {ssh} {dir}/file {outside}:{to}/file", ["file"]),
    ("`scp`, to the host", "{scp} {dir}/file {outside}:{to}/file", ["file"]),
    ("`curl` through `pcc tunnel`", "{pcc} tunnel --quiet --no-path-memory -L 9000:127.0.0.1:8000 {url} & sleep 5; curl -s http://127.0.0.1:9000/file -o {to}/file", ["file"]),
    ("`curl` over plain TCP, CUBIC", "curl -s http://{outside}:8000/file -o {to}/file", ["file"]),
    ("`curl` over plain TCP, BBR", "curl -s http://{outside}:8001/file -o {to}/file", ["file"]),
]
# The tunnel is connected by then.
UNCOUNTED = {WAYS[6][0]: 5}


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
    return serve, f"ssh -p 2222 {options}", f"scp -q -P 2222 {options}", f"https://{{outside}}:4433/#{fingerprint[1]}"


def goodput(pcc, path, way, place, ssh, scp, url):
    """Mbit/s of one run."""
    name, command, files = way
    with tempfile.TemporaryDirectory(dir=place) as to:
        outside = "$PCC_SHELL_OUTSIDE"
        command = command.format(pcc=shlex.quote(pcc), outside=outside, dir=place, to=to, ssh=shlex.quote(ssh), scp=scp,
                                 url='"' + url.format(outside=outside) + '"')
        shell = f"{command}; code=$?; kill $! 2>/dev/null; exit $code"
        begun = time.monotonic()
        # A file, not a pipe: an scp that outlives its path would hold the pipe open.
        with open(f"{place}/said", "w+") as said:
            run = subprocess.run([pcc, "shell", path, "--", "timeout", str(LONGEST + UNCOUNTED.get(name, 0)), "bash", "-c", shell],
                                 env={**os.environ, "PCC_TOKEN": TOKEN}, stdout=subprocess.DEVNULL, stderr=said)
            said.seek(0)
            trouble = said.read().strip()
        seconds = time.monotonic() - begun - UNCOUNTED.get(name, 0)
        if run.returncode not in (0, 124):
            sys.exit(f"{command}: exit code {run.returncode}: {trouble}")
        arrived = max((os.path.getsize(found) for file in files for found in glob.glob(f"{to}/{file}")), default=0)
        print(f"{path}, {name}: {arrived} bytes in {seconds:.1f} s", file=sys.stderr)
        return arrived * 8e-6 / seconds


def measure(pcc):
    with tempfile.TemporaryDirectory() as place:
        with open(f"{place}/file", "wb") as file:
            file.write(os.urandom(SIZE))
        serve, ssh, scp, url = servers(pcc, place)
        try:
            time.sleep(1)
            return {path: [[goodput(pcc, path, way, place, ssh, scp, url) for way in WAYS] for _ in range(RUNS)] for path in PATHS}
        finally:
            serve.terminate()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pcc = os.path.realpath(sys.argv[1])
    if os.environ.get("PCC_TRANSFERS") != "inside":
        inside = "ip link set lo up && exec " + shlex.join([sys.executable, __file__, pcc])
        sys.exit(subprocess.run(["unshare", "--net", "sh", "-c", inside], env={**os.environ, "PCC_TRANSFERS": "inside"}).returncode)
    load = os.getloadavg()[0]
    results = measure(pcc)
    print(f"""# Transfers over ssh and through the tunnel

`sudo python3 docs/results/transfers.py target/release/pcc` makes this page. A file of {SIZE // 1_000_000} MB goes over an emulated path in
real time. The figure is goodput in Mbit/s: the median of {RUNS} runs in turns, with the least and the most. A run ends after {LONGEST} s,
and what has arrived by then counts. Time before the first byte counts, ssh's login too. The tunnel is connected before. ssh, scp and rsync
have the kernel's CUBIC, Linux's default. The load was {load:.0f} at the beginning and {os.getloadavg()[0]:.0f} at the end, on {os.cpu_count()} processors. The load costs PCC most,
since it runs outside of the kernel.

| | {" | ".join(f"`{path}`" for path in PATHS)} |
|---|{"---|" * len(PATHS)}""")
    for number, (name, *_) in enumerate(WAYS):
        cells = []
        for path in PATHS:
            values = [run[number] for run in results[path]]
            cells.append(f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})")
        print(f"| {name} | {' | '.join(cells)} |")
    for path in PATHS:
        median = [statistics.median(run[number] for run in results[path]) for number in range(len(WAYS))]
        print(f"\nOn `{path}` `pcc get` moves {median[0] / median[1]:.1f} times as much as rsync, and `pcc put` {median[3] / median[4]:.1f} times. "
              f"The tunnel moves {median[6] / median[7]:.1f} times as much as plain TCP with CUBIC, and {median[6] / median[8]:.2f} times as much "
              f"as with BBR.")


if __name__ == "__main__":
    main()
