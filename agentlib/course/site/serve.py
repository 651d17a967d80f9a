"""Shows the site on this computer alone, packed as a static host packs it."""

import gzip
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["HOST_NAME", "make_server"]

HOST_NAME = "127.0.0.1"
PACKED = (".js", ".mjs", ".wasm", ".json", ".css", ".html", ".svg", ".ipynb", ".txt")


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    extensions_map = {  # noqa: RUF012  as its base class has it
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript", ".wasm": "application/wasm", ".whl": "application/zip",
        ".ipynb": "application/json",
    }  # fmt: skip

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.is_dir() and self.path.split("?")[0].endswith("/"):
            path /= "index.html"
        if not (
            path.suffix in PACKED and path.is_file() and "gzip" in self.headers.get("Accept-Encoding", "")
        ):
            super().do_GET()
            return
        body = _packed(path, path.stat().st_mtime_ns)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")  # a site that was built anew is seen at once
        super().end_headers()

    def log_message(self, *words: Any) -> None:
        """Say nothing: a page asks for hundreds of files."""


@lru_cache(maxsize=256)
def _packed(path: Path, changed_ns: int) -> bytes:
    return gzip.compress(path.read_bytes(), 6)


def make_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """Make a server of a folder on loopback. port: 0 = any free one. Raises OSError if it is taken."""
    return ThreadingHTTPServer((HOST_NAME, port), partial(_Handler, directory=str(folder)))
