"""A server of draft-banks-quic-performance that is not ours.

usage: perf_server.py CERTIFICATE KEY

Prints its port. Once a stream's FIN has come it answers with as many bytes as the stream's first 8 said, and prints a
line of JSON: the bytes that came after those 8, and the bytes that were asked for.
"""

import asyncio
import json
import sys

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.requests = {}

    def quic_event_received(self, event):
        if not isinstance(event, StreamDataReceived):
            return
        request = self.requests.setdefault(event.stream_id, [b"", 0])
        request[1] += len(event.data)
        request[0] = (request[0] + event.data)[:8]
        if event.end_stream and len(request[0]) == 8:
            asked = int.from_bytes(request[0], "big")
            print(json.dumps({"received": request[1] - 8, "asked": asked}), flush=True)
            self._quic.send_stream_data(event.stream_id, bytes(asked), end_stream=True)
            self.transmit()


async def main(certificate, key):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["perf"], max_data=1 << 24, max_stream_data=1 << 24)
    configuration.load_cert_chain(certificate, key)
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Server)
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.Future()


asyncio.run(main(*sys.argv[1:]))
