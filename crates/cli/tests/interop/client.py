"""An HTTP/3 client that is not ours: makes the requests given on standard input and prints the responses.

usage: client.py HOST PORT CAFILE < requests.json > responses.json

Requests: [{"method": "GET", "path": "/a", "headers": {"range": "bytes=0-9"}, "body": "text"}, ...]
Responses: [{"status": 206, "headers": {...}, "length": 10, "blake2b": "...", "text": "..." if short}, ...]
All requests are made on one connection, the one after the other.
"""

import asyncio
import hashlib
import json
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.responses = {}

    async def request(self, authority, request):
        stream = self._quic.get_next_available_stream_id()
        response = {"headers": {}, "body": hashlib.blake2b(), "length": 0, "start": b""}
        done = asyncio.get_running_loop().create_future()
        self.responses[stream] = (response, done)
        headers = [
            (b":method", request["method"].encode()),
            (b":scheme", b"https"),
            (b":authority", authority.encode()),
            (b":path", request["path"].encode()),
        ]
        headers += [(k.encode(), v.encode()) for k, v in request.get("headers", {}).items()]
        body = request.get("body", "").encode()
        self.http.send_headers(stream, headers, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.transmit()
        return await asyncio.wait_for(done, 60)

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            for _, done in self.responses.values():
                if not done.done():
                    done.set_exception(ConnectionError(f"{event.error_code:#x} {event.reason_phrase}"))
        if isinstance(event, StreamReset) and event.stream_id in self.responses:
            self.responses[event.stream_id][1].set_exception(ConnectionError(f"reset {event.error_code:#x}"))
        for http_event in self.http.handle_event(event):
            if http_event.stream_id not in self.responses:
                continue
            response, done = self.responses[http_event.stream_id]
            if isinstance(http_event, HeadersReceived):
                for name, value in http_event.headers:
                    response["headers"].setdefault(name.decode(), value.decode())
            elif isinstance(http_event, DataReceived):
                response["body"].update(http_event.data)
                response["length"] += len(http_event.data)
                if len(response["start"]) < 4096:
                    response["start"] += http_event.data
            if http_event.stream_ended and not done.done():
                answer = {
                    "status": int(response["headers"].pop(":status")),
                    "headers": response["headers"],
                    "length": response["length"],
                    "blake2b": response["body"].hexdigest(),
                }
                if response["length"] == len(response["start"]):
                    answer["text"] = response["start"].decode(errors="replace")
                done.set_result(answer)


async def main(host, port, cafile):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, max_data=1 << 24, max_stream_data=1 << 24)
    configuration.load_verify_locations(cafile)
    async with connect(host, port, configuration=configuration, create_protocol=Client) as client:
        responses = [await client.request(f"{host}:{port}", request) for request in json.load(sys.stdin)]
    json.dump(responses, sys.stdout)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
