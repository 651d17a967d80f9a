"""The command `site` of `python -m agentlib`: builds the course as static files, and shows them."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.course.errors import SiteError
from agentlib.course.lab import port_number
from agentlib.course.site.build import PLOT_WORDS, build_site
from agentlib.course.site.serve import HOST_NAME, make_server

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["add_site"]


def run_site(arguments: argparse.Namespace) -> int:
    """Build the site, and serve it if asked to. Returns 0, 1 if it cannot be served, 2 if not built."""
    out: Path = arguments.out
    is_there = (out / "jupyter-lite.json").is_file()
    if not (arguments.serve and is_there):
        try:
            built = build_site(
                out,
                solutions=not arguments.without_solutions,
                plots=arguments.plots,
                pyodide=arguments.pyodide,
            )
        except SiteError as problem:
            print(problem, file=sys.stderr)
            return 2
        print(f"{built.folder}: {built.size_bytes / 1e6:.1f} MB of static files, for any host.")
        print(*built.notes, PLOT_WORDS[built.plots], sep="\n", flush=True)
    return _serve(out, arguments.port) if arguments.serve else 0


def _serve(out: Path, port: int) -> int:
    try:
        server = make_server(out, port)
    except OSError as problem:
        print(f"Port {port} cannot be used: {problem}", file=sys.stderr)
        return 1
    with server:
        print(f"http://{HOST_NAME}:{server.server_port}/ on this computer alone. Ctrl-C ends it.", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def add_site(commands: "Commands") -> None:
    """Add `site` to the command line."""
    parser = commands.add_parser(
        "site",
        help="build the course for a browser, as static files",
        description="Build the whole course as a folder of static files that any host can show: a start "
        "page; a page to read for each lesson and exercise, whose players play and quizzes answer by "
        "themselves; and a lab in which Python runs in the browser. The lessons are run for it, which takes "
        "a minute or two.",
        epilog="It needs the extra `site`, and npm, which fetches Pyodide.",
    )
    parser.add_argument(
        "out", type=Path, help="a new folder; with --serve, one that was built before is shown"
    )
    parser.add_argument("--serve", action="store_true", help="show the site on this computer")
    parser.add_argument(
        "--port", type=port_number, default=8000, help="the port to show it on (default: 8000)"
    )
    parser.add_argument("--without-solutions", action="store_true", help="leave the solutions out")
    plots = parser.add_mutually_exclusive_group()
    plots.add_argument(
        "--with-plots", dest="plots", action="store_const", const="site", default="host",
        help="put Pyodide's own matplotlib into the site, about 20 MB more",
    )  # fmt: skip
    plots.add_argument(
        "--without-plots", dest="plots", action="store_const", const="none",
        help="never load matplotlib: plots are tables",
    )  # fmt: skip
    parser.add_argument("--pyodide", type=Path, help="a folder with Pyodide's core, in place of npm")
    parser.set_defaults(run=run_site)
