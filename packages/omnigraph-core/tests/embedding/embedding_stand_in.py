"""A stand-in for servers that embed: run as a process of its own, told by the test how to answer, and it remembers.

It prints its port and serves until its standard input ends. ``POST /script/NAME`` with a list of answers says what
requests below ``/NAME/`` get, one after the other; ``GET /seen/NAME`` says what came. An answer is a dict:

    status, headers, json or text     an ordinary answer
    embed: "openai" | "gemini"        vectors [length of the text, 1, 1, ...]; those of OpenAI in reverse, with indices
    hang: true                        no answer at all
    drip: "body" | "head"             an answer that goes on byte by byte
    cut: n                            hangs up behind n bytes of the body; with exit: true the process dies there
    chunked: true                     in chunks, without a length
    zeros: n                          n bytes, without a length
    garbage: true                     something that is not HTTP
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

SCRIPTS: dict[str, list[dict[str, Any]]] = {}
SEEN: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
LOCK = threading.Lock()


def embedded(kind: str, body: dict[str, Any]) -> Any:
    if kind == "gemini":
        size = body["outputDimensionality"]
        return {"embedding": {"values": [len(body["content"]["parts"][0]["text"]), *[1.0] * (size - 1)]}}
    found = [
        {"object": "embedding", "index": index, "embedding": [len(text), *[1.0] * (body["dimensions"] - 1)]}
        for index, text in enumerate(body["input"])
    ]
    return {"object": "list", "data": found[::-1], "model": body["model"]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing: the port alone stands on standard output."""

    def do_GET(self) -> None:
        _, verb, name, *_ = self.path.split("/")
        self.answer({"json": SEEN[name]} if verb == "seen" else {"json": {"redirected": True}})

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        # A client that takes this for its proxy asks with the whole URL.
        self.path = urlsplit(self.path).path
        _, name, *_ = self.path.split("/")
        if name == "script":
            SCRIPTS[self.path.split("/")[2]] = json.loads(text)
            self.answer({"json": "ok"})
            return
        headers = {key.lower(): value for key, value in self.headers.items()}
        body = json.loads(text)
        with LOCK:
            SEEN[name].append({"method": self.command, "path": self.path, "headers": headers, "body": body})
            script = SCRIPTS[name]
            answer = script.pop(0) if script else {"status": 418, "json": {"error": "the script is over"}}
        if "embed" in answer:
            answer["json"] = embedded(answer["embed"], body)
        self.answer(answer)

    def answer(self, answer: dict[str, Any]) -> None:
        if answer.get("hang"):
            time.sleep(60)
            return
        if answer.get("garbage"):
            self.wfile.write(b"220 mail.example.org ESMTP\r\n")
            self.close_connection = True
            return
        if answer.get("drip") == "head":
            self.drip(b"HTTP/1.1 200 OK\r\nX-Long: ")
            return
        body = answer["text"].encode() if "text" in answer else json.dumps(answer.get("json")).encode()
        self.send_response(answer.get("status", 200))
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        if answer.get("chunked"):
            self.send_header("Transfer-Encoding", "chunked")
        elif "zeros" not in answer and "drip" not in answer:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            if "drip" in answer:
                self.drip(b"")
            if "zeros" in answer:
                for _ in range(answer["zeros"] >> 16):
                    self.wfile.write(b"0" * (1 << 16))
                return
            if answer.get("chunked"):
                body = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in (body[:7], body[7:])) + b"0\r\n\r\n"
            self.wfile.write(body[: answer.get("cut", len(body))])
            if "cut" in answer:
                self.wfile.flush()
                if answer.get("exit"):
                    os._exit(1)
                self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            """Whoever asked went away."""

    def drip(self, start: bytes) -> None:
        self.close_connection = True
        self.wfile.write(start)
        # Until whoever asked goes away, or for ten seconds.
        with contextlib.suppress(OSError):
            for _ in range(1000):
                self.wfile.write(b" ")
                time.sleep(0.01)


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
