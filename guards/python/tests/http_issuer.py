"""An issuer on loopback that answers as a test wants, also as no issuer should."""
import http.server
import threading
import time


class HttpIssuer:
    """answers: by path, a function that gets the request handler."""

    def __init__(self, answers):
        self.asked = []
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked.append(self.path)
                length = int(self.headers.get("content-length") or 0)
                self.body = self.rfile.read(length).decode("ascii")
                answers[self.path.split("?")[0]](self)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def text(body, status=200, headers=()):
    data = body if isinstance(body, bytes) else body.encode("utf-8")

    def answer(handler):
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def drip(handler):
    """A header that never ends, a byte at a time: no single read takes long."""
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
        for _ in range(200):
            handler.wfile.write(b"a")
            handler.wfile.flush()
            time.sleep(0.02)
    except OSError:
        pass


def cut(handler):
    handler.send_response(200)
    handler.send_header("content-length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"keys":[]}')
    handler.close_connection = True
