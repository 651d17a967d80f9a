"""The site's builder: what it refuses, what it pins, what Pyodide's lock says, and how the site is shown."""

import gzip
import hashlib
import importlib.metadata
import json
import re
import threading
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import pytest

from agentlib.course.cli import main, parse
from agentlib.course.errors import SiteError
from agentlib.course.site import build, live, pyodide, start_page, wheels
from agentlib.course.site.serve import make_server

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINNED = dict(
    re.fullmatch(r"([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}", line).groups()
    for line in wheels.PINNED.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)


def make_wheel(folder, name, version="1.0", needs=(), modules=("",)):
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    metadata = f"Name: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(path, "w") as archive:
        for module in modules:
            archive.writestr(module or f"{name.replace('-', '_')}/__init__.py", "")
        archive.writestr(f"{path.stem.split('-py3')[0]}.dist-info/METADATA", metadata)
    return path


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_site_is_only_built_into_a_new_folder(kind, tmp_path, capsys):
    out = tmp_path / "site"
    if kind == "folder":
        out.mkdir()
        (out / "mine.txt").write_text("kept")
    else:
        out.write_text("kept")
    assert main(["site", str(out)]) == 2
    assert "always built into a new folder" in capsys.readouterr().err
    assert (out / "mine.txt" if kind == "folder" else out).read_text() == "kept"


def test_a_tool_of_another_version_is_named_with_the_command_that_gets_the_right_one(tmp_path, monkeypatch):
    monkeypatch.setitem(build.TOOLS, "pytest", "0.0.1")
    for name in list(build.TOOLS):
        if name != "pytest":
            monkeypatch.delitem(build.TOOLS, name)
    with pytest.raises(SiteError, match=r'pytest is here in version .* needs 0\.0\.1.*"\.\[site\]"'):
        build.build_site(tmp_path / "site")
    assert list(tmp_path.iterdir()) == []


def test_without_npm_it_is_said_how_to_get_pyodide(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SiteError, match="npm is needed"):
        pyodide.fetch_pyodide(tmp_path)


def test_plots_are_in_the_site_or_not_at_all():
    assert parse(["site", "x"]).plots == "host"
    assert parse(["site", "x", "--with-plots"]).plots == "site"
    assert parse(["site", "x", "--without-plots"]).plots == "none"
    with pytest.raises(SystemExit):
        parse(["site", "x", "--with-plots", "--without-plots"])


@pytest.mark.parametrize("solutions", [True, False])
def test_the_solutions_are_in_the_site_or_left_out_and_grading_is_never_there(solutions, tmp_path):
    assert parse(["site", "x"]).without_solutions is False
    assert parse(["site", "x", "--without-solutions"]).without_solutions is True
    build.copy_files(ROOT, tmp_path / "files", solutions)
    there = {path.relative_to(tmp_path / "files").as_posix() for path in (tmp_path / "files").rglob("*")}
    assert {"LICENSE", "notebooks/00_start_here.ipynb", "exercises/ex01_write_the_loop.ipynb"} <= there
    assert ("solutions/ex01_write_the_loop.ipynb" in there) is solutions
    assert "agentlib/loop.py" in there  # lessons lead to it
    assert [path for path in there if "grading" in path or "__pycache__" in path or "tests" in path] == []


# --- what is pinned -----------------------------------------------------------------------------------


def test_the_tools_are_those_of_the_extra():
    pinned = {f"{name}=={version}" for name, version in build.TOOLS.items()}
    assert pinned == set(PROJECT["optional-dependencies"]["site"])


def test_a_browser_gets_what_the_course_needs_in_the_versions_of_requirements():
    here = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE))
    needed = {re.split(r"[<>=!; ]", line)[0] for line in PROJECT["dependencies"] if "emscripten" not in line}
    assert needed <= PINNED.keys()
    assert {name: PINNED[name] for name in needed & here.keys()} == {
        name: here[name] for name in needed & here.keys()
    }


def test_pydantic_core_is_the_one_that_pydantic_asks_for():
    asked = [need for need in importlib.metadata.requires("pydantic") if need.startswith("pydantic-core")]
    assert asked == [f"pydantic-core=={PINNED['pydantic-core']}"]


# --- the lock -----------------------------------------------------------------------------------------


def base_lock(**wheels_of_host):
    packages = {
        name: {
            "name": name,
            "version": "9",
            "file_name": f"{name}-9.whl",
            "depends": needs,
            "sha256": "0" * 64,
        }
        for name, needs in {
            "matplotlib": ["numpy", "six"],
            "numpy": [],
            "six": [],
            "scipy": ["numpy"],
        }.items()
    }
    for name, content in wheels_of_host.items():
        packages[name]["sha256"] = hashlib.sha256(content).hexdigest()
    return {"info": {"python": "3.14.2"}, "packages": packages}


def test_a_wheel_is_described_with_its_hash_its_imports_and_what_it_needs_in_a_browser(tmp_path):
    wheel = make_wheel(
        tmp_path, "my-tool", "2.1",
        ["Six>=1", 'pexpect; sys_platform != "emscripten"', 'ruff; extra == "dev"', "jupyterlab_widgets"],
        ["my_tool/__init__.py", "other.py", "_fast.cpython-314-wasm32-emscripten.so"],
    )  # fmt: skip
    entry = wheels.lock_entry(wheel)
    assert entry["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert (entry["name"], entry["version"], entry["file_name"]) == ("my-tool", "2.1", wheel.name)
    assert entry["depends"] == ["six"]
    assert entry["imports"] == ["_fast", "my_tool", "other"]


@pytest.mark.parametrize(
    ("plots", "names"),
    [
        ("none", ["mine", "six"]),
        ("host", ["matplotlib", "mine", "numpy", "six"]),
        ("site", ["matplotlib", "mine", "numpy", "six"]),
    ],
)
def test_the_lock_holds_what_the_site_has_and_what_plots_need_and_no_more(plots, names, tmp_path):
    made = [make_wheel(tmp_path, "mine", needs=["six"]), make_wheel(tmp_path, "six")]
    packages = pyodide.make_lock(base_lock(), made, plots=plots)["packages"]
    assert list(packages) == names
    outside = [name for name, entry in packages.items() if entry["file_name"].startswith("https://")]
    assert outside == (["matplotlib", "numpy"] if plots == "host" else [])
    assert packages["six"]["file_name"] == "six-1.0-py3-none-any.whl"


def test_a_wheel_that_needs_what_is_not_there_is_named(tmp_path):
    with pytest.raises(SiteError, match="mine needs numpy"):
        pyodide.make_lock(base_lock(), [make_wheel(tmp_path, "mine", needs=["numpy"])], plots="none")


def test_wheels_for_plots_are_kept_only_with_the_hash_of_pyodides_lock(tmp_path):
    host, folder = tmp_path / "host", tmp_path / "site"
    host.mkdir()
    folder.mkdir()
    contents = {name: name.encode() for name in ("matplotlib", "numpy", "six")}
    for name, content in contents.items():
        (host / f"{name}-9.whl").write_bytes(content)
    pyodide.fetch_plots(base_lock(**contents), folder, f"{host.as_uri()}/")
    assert sorted(path.name for path in folder.iterdir()) == ["matplotlib-9.whl", "numpy-9.whl", "six-9.whl"]
    (host / "numpy-9.whl").write_bytes(b"another")
    with pytest.raises(SiteError, match=r"numpy-9\.whl .* is another file"):
        pyodide.fetch_plots(base_lock(**contents), folder, f"{host.as_uri()}/")
    (host / "numpy-9.whl").unlink()
    with pytest.raises(SiteError, match=r"numpy-9\.whl cannot be had"):
        pyodide.fetch_plots(base_lock(**contents), folder, f"{host.as_uri()}/")


# --- pages, and how they are shown --------------------------------------------------------------------


def test_the_start_page_is_also_the_root_of_jupyterlite():
    page = start_page.start_page((ROOT / "README.md").read_text(encoding="utf-8"))
    (settings,) = re.findall(r'<script id="jupyter-config-data"[^>]*>(.*?)</script>', page)
    assert json.loads(settings) == {}


@pytest.fixture
def shown(tmp_path):
    (tmp_path / "index.html").write_text("<p>start</p>" * 50)
    (tmp_path / "pyodide.mjs").write_text("export const x = 1;")
    (tmp_path / "a.whl").write_bytes(b"PK")
    server = make_server(tmp_path)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_the_site_is_shown_on_loopback_alone_packed_and_with_the_types_that_browsers_ask_for(shown):
    host, port = shown
    assert host == "127.0.0.1"

    def answer(path):
        request = urllib.request.Request(f"http://{host}:{port}/{path}", headers={"Accept-Encoding": "gzip"})
        return urllib.request.urlopen(request, timeout=10)

    page = answer("")
    assert (page.headers["Content-Encoding"], page.headers["Content-Type"]) == ("gzip", "text/html")
    assert gzip.decompress(page.read()).startswith(b"<p>start</p>")
    assert answer("pyodide.mjs").headers["Content-Type"] == "text/javascript"
    assert answer("a.whl").headers["Content-Encoding"] is None


# --- the start page -----------------------------------------------------------------------------------


LOOP = (start_page.PAGES / "loop.txt").read_text(encoding="utf-8")


def answer(text=LOOP, do="run", max_steps=4, **more):
    return json.loads(live.answer_page(json.dumps({"do": do, "text": text, "max_steps": max_steps, **more})))


def test_the_page_holds_a_run_the_text_of_its_loop_and_the_map():
    page = start_page.start_page((ROOT / "README.md").read_text(encoding="utf-8"))
    values = json.loads(re.search(r'id="values">(.*?)</script>', page, re.DOTALL)[1])
    assert len(values["timelines"][0]["frames"]) > 20
    assert "".join(f"{line}\n" for line in values["timelines"][0]["lines"]) == LOOP
    for folder, pages in (("notebooks", "lessons"), ("exercises", "exercises")):
        for path in (ROOT / folder).glob("[0e]*.ipynb"):
            assert f'href="{pages}/{path.stem}.html"' in page
    assert "{{" not in page


def test_a_loop_that_was_changed_plays_as_it_now_is():
    assert answer()["timelines"][0]["frames"][-1]["stopped"] == "answered"
    assert answer(max_steps=2)["timelines"][0]["frames"][-1]["stopped"] == "step limit"
    changed = answer(LOOP.replace('"answered"', '"done"'))
    assert changed["timelines"][0]["frames"][-1]["stopped"] == "done"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def run_agent(model\n", "Line 1 is no Python: "),
        ("def run_agent(model, tools, goal, max_steps=10):\n    retrun 3\n", "Line 2 is no Python: "),
        ("", "There is no function run_agent"),
        ("run_agent = 3", "There is no function run_agent"),
        ("x = 1 / 0", "raised ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "raised SystemExit: 3"),
        ("while True: pass", "did not end within 0.2 seconds"),
        ("async def run_agent(model, tools, goal, max_steps=10): pass", "watch runs plain functions"),
    ],
)
def test_a_text_that_is_no_loop_is_answered_in_a_sentence(text, says, monkeypatch):
    monkeypatch.setattr(live, "TEXT_SECONDS", 0.2)
    assert says in answer(text)["problem"]


@pytest.mark.parametrize("body", ["while True: pass", "1 / 0", "while True: model([])", "return"])
def test_a_loop_that_fails_or_does_not_end_is_played_all_the_same(body):
    played = answer(f"def run_agent(model, tools, goal, max_steps=10):\n    {body}\n")
    assert played["timelines"][0]["frames"]
    assert played["problem"] == ""


def test_what_if_stands_beside_the_run_as_it_was_and_says_where_they_part():
    change = answer()["timelines"][0]["changes"][0]
    forked = answer(
        do="fork", kind=change["kind"], step=change["step"], value='{"type": "answer", "text": "I guess."}'
    )
    assert [one["label"] for one in forked["timelines"]] == ["as it was", "what if"]
    assert "First difference: frame " in forked["timelines"][1]["difference"]["words"]
    assert forked["frame"] == forked["timelines"][1]["difference"]["frame"]
    assert "problem" in answer(do="fork", kind="reply", step=99, value="{}")
    assert len(answer(do="one run")["timelines"]) == 1
