"""An HTTP/3 server that is not ours: serves one file, with byte ranges and an entity tag, and without a digest.

usage: server.py FILE CERTIFICATE KEY [CUT]

Prints its port. GET and HEAD of any path answer with the file; `/missing` is 404. With CUT, the first response ends
after so many bytes by closing the connection. Every request is printed as a line of JSON.
"""

import asyncio
import json
import sys

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

FILE, CERTIFICATE, KEY = sys.argv[1:4]
CUT = int(sys.argv[4]) if len(sys.argv) > 4 else None
ETAG = '"aioquic-1"'
content = open(FILE, "rb").read()


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None

    def quic_event_received(self, event):
        if self.http is None:
            self.http = H3Connection(self._quic)
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                self.answer(http_event.stream_id, {k.decode(): v.decode() for k, v in http_event.headers})

    def answer(self, stream, request):
        global CUT
        print(json.dumps(request), flush=True)
        if request[":path"] == "/missing":
            self.http.send_headers(stream, [(b":status", b"404"), (b"content-length", b"0")], end_stream=True)
            return self.transmit()
        start = 0
        if "range" in request and request.get("if-range", ETAG) == ETAG:
            start = int(request["range"].removeprefix("bytes=").removesuffix("-"))
        headers = [
            (b":status", b"206" if start else b"200"),
            (b"etag", ETAG.encode()),
            (b"accept-ranges", b"bytes"),
            (b"content-length", str(len(content) - start).encode()),
        ]
        if start:
            headers.append((b"content-range", f"bytes {start}-{len(content) - 1}/{len(content)}".encode()))
        head_only = request[":method"] == "HEAD"
        self.http.send_headers(stream, headers, end_stream=head_only or start == len(content))
        if not head_only and CUT is not None:
            self.http.send_data(stream, content[start : start + CUT], end_stream=False)
            CUT = None
            asyncio.get_running_loop().call_later(1, self.close)
        elif not head_only and start < len(content):
            self.http.send_data(stream, content[start:], end_stream=True)
        self.transmit()


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(CERTIFICATE, KEY)
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Server)
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.Future()


asyncio.run(main())
