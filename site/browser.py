"""A headless Chromium and a server of files, by Python's standard library alone: the DevTools protocol over a pipe."""

import functools
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "about:blank")


# The least contrast of a text with its ground, as WCAG 2 has it, and the text.
CONTRAST = """(() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = one => {
    for (let at = one; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll('body *')].filter(one => one.checkVisibility() &&
    (one.matches('input:not([type=range], [type=checkbox]), select, textarea') ||
      [...one.childNodes].some(child => child.nodeType === 3 && child.data.trim())));
  const found = texts.map(one => {
    const style = getComputedStyle(one);
    const [a, b] = [light(parts(one instanceof SVGElement ? style.fill : style.color)), light(ground(one))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.textContent.slice(0, 40) || one.id];
  });
  return found.reduce((least, one) => one[0] < least[0] ? one : least, [99, '']);
})()"""

# Fields without a label, buttons without a name, and references to nothing.
NAMELESS = """[
  ...[...document.querySelectorAll('input, select, textarea')].filter(one => one.labels.length === 0),
  ...[...document.querySelectorAll('button')].filter(one => !(one.ariaLabel || one.textContent.trim())),
  ...[...document.querySelectorAll('[aria-describedby]')].filter(one => one.getAttribute('aria-describedby').split(' ')
    .some(id => !document.getElementById(id))),
].map(one => one.outerHTML)"""


# The folder's address on its server: pages must work below any.
BELOW = "/some/where/"


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below BELOW, and remembers what was asked for in vain."""

    missing = []
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, *_):
        pass

    def translate_path(self, path):
        return super().translate_path(path.removeprefix(BELOW) if path.startswith(BELOW) else "/beside the folder")

    def send_error(self, code, *rest, **named):
        self.missing.append(f"{code}: {self.path}")
        super().send_error(code, *rest, **named)


def serve(folder):
    """The address of a server of this folder's files."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}{BELOW}"


class Page:
    """A page of a browser of its own. `complaints` has everything that it or its workers wrote to the console, and errors; `asked` has
    the addresses that they asked for."""

    def __init__(self, patience=60):
        program = next((name for name in NAMES if shutil.which(name)), None)
        if not program:
            raise SystemExit(f"none of {', '.join(NAMES)} is here: apt-get install chromium")
        self.patience, self.complaints, self.asked, self.number = patience, [], set(), 0
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        there, self.ours = os.pipe()
        self.theirs, back = os.pipe()
        # The browser reads file 3 and writes file 4.
        command = ["sh", "-c", f'exec "$0" "$@" 3<&{there} 4>&{back}', program, f"--user-data-dir={self.profile.name}", *FLAGS]
        self.process = subprocess.Popen(command, pass_fds=(there, back), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(back)
        self.rest, self.session = b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    def close(self):
        os.close(self.ours)
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.rest:
            some = os.read(self.theirs, 1 << 16)
            if not some:
                raise SystemExit("the browser is gone")
            self.rest += some
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, session=None, **params):
        """What the browser answers to a command."""
        self.number += 1
        mine, session = self.number, session or self.session
        text = {"id": mine, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.ours, json.dumps(text).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == mine:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.event(message)

    def event(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.complaints.append(str([argument.get("value", argument.get("description")) for argument in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.complaints.append(f"{params['entry']['level']}: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.asked.add(params["request"]["url"])
        elif method == "Target.attachedToTarget":
            # A worker: what it writes counts too. Nobody waits for the answer.
            for domain in ("Runtime.enable", "Log.enable", "Network.enable"):
                self.number += 1
                text = {"id": self.number, "method": domain, "params": {}, "sessionId": params["sessionId"]}
                os.write(self.ours, json.dumps(text).encode() + b"\0")

    def ask(self, expression):
        """The value of an expression, or of what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def holds(self, expression):
        """Whether it is true. It is not while another page takes this one's place."""
        try:
            return self.ask(expression)
        except RuntimeError as error:
            if "navigated" in str(error) or "context" in str(error):
                return False
            raise

    def until(self, expression):
        """Waits until it is true."""
        end = time.monotonic() + self.patience
        while not self.holds(expression):
            if time.monotonic() > end:
                raise SystemExit(f"{expression} has not become true; {self.complaints}; {self.ask('document.body.innerText')[:2000]}")
            time.sleep(0.05)

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def colours(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, address):
        """A page is opened anew, even if its address differs behind # alone."""
        self.call("Page.navigate", url="about:blank")
        self.until("location.href === 'about:blank'")
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def key(self, key, code=None, text=None):
        """Presses a key: its name, and the text that it writes."""
        codes = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, " ": 32}
        params = {"key": key, "code": code or key, "windowsVirtualKeyCode": codes.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **params, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)


def run(tests, helpers=()):
    """Runs the methods of that object in order, but for its helpers, and closes its page. Last of all nothing was asked of other
    addresses, missing or complained of."""
    try:
        for name in vars(type(tests)):
            if not name.startswith("__") and name not in helpers:
                print(name.replace("_", " "), flush=True)
                getattr(tests, name)()
        elsewhere = {address for address in tests.page.asked if not address.startswith((tests.home, "about:", "blob:", "data:"))}
        assert not elsewhere, f"requests left the folder: {elsewhere}"
        assert not tests.page.complaints, tests.page.complaints
        assert not Files.missing, Files.missing
    finally:
        tests.page.close()
    print("ok")
