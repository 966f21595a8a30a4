"""A client of draft-banks-quic-performance that is not ours: asks a server for bytes, and uploads some.

usage: perf_client.py HOST PORT CAFILE DOWN UP [DOWN UP ...]

For each pair it opens a stream, asks for DOWN bytes, sends UP bytes and a FIN. Prints a line of JSON: the protocol that
was agreed on, and the bytes that came back on each stream until its FIN.
"""

import asyncio
import json
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamDataReceived, StreamReset


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.alpn = None
        self.streams = {}

    async def measure(self, down, up):
        stream = self._quic.get_next_available_stream_id()
        answered = asyncio.get_running_loop().create_future()
        self.streams[stream] = [0, answered]
        self._quic.send_stream_data(stream, down.to_bytes(8, "big") + bytes(up), end_stream=True)
        self.transmit()
        return await asyncio.wait_for(answered, 60)

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.alpn = event.alpn_protocol
        elif isinstance(event, StreamDataReceived):
            stream = self.streams[event.stream_id]
            stream[0] += len(event.data)
            if event.end_stream:
                stream[1].set_result(stream[0])
        elif isinstance(event, (StreamReset, ConnectionTerminated)):
            for _, answered in self.streams.values():
                if not answered.done():
                    answered.set_exception(ConnectionError(str(event)))


async def main(host, port, cafile, *volumes):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["perf"], max_data=1 << 24, max_stream_data=1 << 24)
    configuration.load_verify_locations(cafile)
    pairs = zip(volumes[::2], volumes[1::2])
    async with connect(host, int(port), configuration=configuration, create_protocol=Client) as client:
        received = await asyncio.gather(*(client.measure(int(down), int(up)) for down, up in pairs))
    print(json.dumps({"alpn": client.alpn, "received": received}))


asyncio.run(main(*sys.argv[1:]))
