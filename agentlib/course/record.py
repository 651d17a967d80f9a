"""Recorded runs: a lab run many times with a real model, each run kept as a trace that replays offline.

The command is `python -m agentlib record`. A run is written as soon as it is over, so that nothing that is
finished is lost; the same command again makes only what is missing.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentlib._json import whole_number
from agentlib._run import Run
from agentlib.errors import AgentLibError, TraceFileError
from agentlib.labs import blue_mugs, capitals, shop, trains, weather
from agentlib.loop import replay, run_agent
from agentlib.messages import Entry, ModelFunction, describe
from agentlib.providers import anthropic, local, openai
from agentlib.stops import CANCELLED, MODEL_ERROR
from agentlib.trace import Trace, compare

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["LABS", "PROVIDERS", "add_record", "load_recordings", "models_of", "record_runs"]

LABS: Mapping[str, ModuleType] = {
    lab.__name__.rpartition(".")[2]: lab for lab in (weather, blue_mugs, shop, capitals, trains)
}
"""The labs that can be recorded: those whose tools remember nothing from run to run."""

PROVIDERS: Mapping[str, ModuleType] = {"openai": openai, "anthropic": anthropic, "local": local}

PACKAGES = {
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "local": ("xllamacpp", local.WEIGHTS.replace("_", "-")),
}
"""Whose versions stand in a recording, beside our own."""

RECORDINGS = Path(__file__).parents[1] / "labs" / "recordings"
"""The recorded runs that come with the course, a folder each, with a README that says how they were made."""

MakeModel = Callable[[int], ModelFunction]
OnRun = Callable[[int, Run], None]


class RecordingStopped(AgentLibError):
    """Raised when no more runs are recorded, because the model could not be asked or a person stopped it."""


def record_runs(
    lab: ModuleType,
    make_model: MakeModel,
    out: str | Path,
    seeds: range,
    *,
    about: Entry,
    max_steps: int = 10,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    on_run: OnRun = lambda seed, run: None,
) -> list[Path]:
    """Run a lab once for each seed and write each run to a file of its own; give the files.

    lab: a module with GOAL and TOOLS. make_model(seed): makes a fresh model for one run.
    out: the folder, made if need be. What is there already of the same making is kept and not run again.
    about: how the runs are made (provider, model, settings); stands in each file, under "recorded".
    now: gives the date. on_run(seed, run): called after each run.
    Raises RecordingStopped for a run that ended as "model error" or "cancelled": it says nothing of the model
    and is not kept, those before it are. Raises TraceFileError if `out` holds something else,
    NotADirectoryError if it is a file.
    """
    folder = Path(out)
    wanted = [(seed, folder / f"seed_{seed:04}.jsonl") for seed in seeds]
    about = {"lab": lab.__name__.rpartition(".")[2], **about}
    missing = [(seed, path) for seed, path in wanted if not _is_there(path, about, max_steps)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(f"{folder} is a file. Choose a folder to record into.") from None
    for seed, path in missing:
        run = run_agent(make_model(seed), lab.TOOLS, lab.GOAL, max_steps)
        on_run(seed, run)
        if run.stopped in (MODEL_ERROR, CANCELLED):
            raise RecordingStopped(f"seed {seed}: {run.stopped}: {run.stopped.detail}")
        recorded = {**about, "seed": seed, "date": now().date().isoformat()}
        half = path.with_suffix(".part")
        Trace(run.trace.events, {**run.trace.about, "recorded": recorded}).save(half)
        half.replace(path)  # a file with its whole name holds a whole run, whenever the program is ended
    return [path for _, path in wanted]


def _is_there(path: Path, about: Entry, max_steps: int) -> bool:
    """Tell whether a run is recorded already; raises TraceFileError if the file holds something else."""
    if not path.exists():
        return False
    trace = Trace.load(path)
    recorded = trace.about.get("recorded")
    found = {**recorded, "max_steps": trace.about.get("max_steps")} if isinstance(recorded, dict) else {}
    for name, value in {**about, "max_steps": max_steps}.items():
        if found.get(name) != value:
            raise TraceFileError(
                str(path), 1, f"this run was made in another way: its {name} is {found.get(name)!r} and not "
                f"{value!r}. Choose another folder."
            )  # fmt: skip
    return True


def models_of(provider: str, tools: Any, name: str = "", **settings: Any) -> Callable[..., ModelFunction]:
    """Open a provider's client and give a function `make(seed=0, system="") -> model`.

    provider: "openai", "anthropic" or "local". tools, settings: as for the provider's `model`.
    name: the provider's name of a model; "" will do for the local one. The seed is for the local model alone;
    it brings a run back in a fresh client only: with other runs in the cache, other words have come out.
    Raises ValueError for an unknown provider or a name that is missing, ProviderError as its `client` does.
    """
    if provider not in PROVIDERS:
        raise ValueError(f"There is no provider {describe(provider)}; there are {', '.join(PROVIDERS)}.")
    if not name and provider != "local":
        raise ValueError(f"Say which model of {provider} is meant.")
    module = PROVIDERS[provider]
    client = module.client()

    def make(seed: int = 0, system: str = "") -> ModelFunction:
        own = {"seed": seed} if module is local else {}
        made: ModelFunction = module.model(
            client, name or local.MODEL, tools, system=system, **settings, **own
        )
        return made

    return make


def load_recordings(folder: str | Path) -> list[Trace]:
    """Load the recorded runs of a folder, in the order of their names.

    folder: a path, or the name of recordings that come with the course, such as "blue_mugs_local".
    Each run is a file `seed_0001.jsonl`, `seed_0002.jsonl`, ...: a saved trace (`Trace.save`) of a run by
    `run_agent` without rules of its own, whose first line also holds "recorded", a dict with the texts "lab",
    "provider", "model" and "date", the number "seed" and whatever else is to be known of it ("settings",
    "made_with"). `python -m agentlib record` writes such files. All runs of a folder are made in one way.
    Raises FileNotFoundError if there are none; TraceFileError, naming the file, if one is no whole run, does
    not say how it was made, was made in another way than the others, belongs to a lab whose goal or tools are
    others by now, or does not replay to the same events: somebody has changed it.
    """
    place = RECORDINGS / folder if isinstance(folder, str) and not Path(folder).exists() else Path(folder)
    traces: list[Trace] = []
    for path in sorted(place.glob("seed_*.jsonl")):
        trace = Trace.load(path)
        if trace.problem:
            raise TraceFileError(str(path), len(trace) + 1, trace.problem)
        problem = _problem_of(trace, traces[0] if traces else trace)
        if problem:
            raise TraceFileError(str(path), 1, problem)
        traces.append(trace)
    if not traces:
        known = ", ".join(sorted(path.name for path in RECORDINGS.glob("*/"))) or "none"
        raise FileNotFoundError(
            f"There are no recorded runs in {Path(folder).absolute()}. With the course come: {known}."
        )
    return traces


_FACTS = {"lab": str, "provider": str, "model": str, "date": str, "seed": int}
"""What a recording says of itself, beside its events."""


def _problem_of(trace: Trace, first: Trace) -> str:
    """Say why a trace is no recording that goes with the first one of its folder; "" = it is one."""
    recorded, first_recorded = trace.about.get("recorded"), first.about.get("recorded")
    if not isinstance(recorded, dict):
        return 'a recording says how it was made: "recorded" is missing in its first line.'
    for name, kind in _FACTS.items():
        if type(recorded.get(name)) is not kind:
            what = "a text" if kind is str else "a whole number"
            return f'"{name}" in "recorded" is {what}, but was {describe(recorded.get(name))}.'
    for name in ("lab", "provider", "model", "settings"):
        mine, theirs = recorded.get(name), (first_recorded or {}).get(name)
        if mine != theirs:
            return f"its {name} is {mine!r}, and that of the first run {theirs!r}. Give it another folder."
    lab = LABS.get(recorded["lab"])
    if lab is not None and (trace.goal, set(trace.about.get("tools", ()))) != (lab.GOAL, set(lab.TOOLS)):
        return f"its goal or its tools are not those of the lab {recorded['lab']}."
    if trace.stopped is None:
        return "the run has no end."
    differences = compare(trace, replay(trace).trace)
    return f"it does not replay as it was recorded: {differences[0]}" if differences else ""


# --- the command ----------------------------------------------------------------------------------------


def number_from(minimum: int) -> Callable[[str], int]:
    """Make a reader of whole numbers from `minimum` up; it raises `argparse.ArgumentTypeError` for others."""

    def read(text: str) -> int:
        try:
            return whole_number("the number", int(text), minimum)
        except ValueError:
            wanted = f"wanted a whole number from {minimum} up, not {text!r}"
            raise argparse.ArgumentTypeError(wanted) from None

    return read


def model_maker(arguments: argparse.Namespace, about: Entry) -> MakeModel:
    """Make the function that makes a model for a seed. Raises ProviderError if it cannot be asked."""
    tools, name, settings = LABS[arguments.lab].TOOLS, about["model"], about["settings"]
    if arguments.provider == "local":
        local.weights()
        # A fresh client for each run: what is in the cache from the run before must not touch this one.
        return lambda seed: models_of("local", tools, name, **settings)(seed)
    return models_of(arguments.provider, tools, name, **settings)


def description(arguments: argparse.Namespace) -> Entry:
    """Say how the runs are made, for the first line of each file."""
    settings: Entry = {
        ("max_completion_tokens" if arguments.provider == "openai" else "max_tokens"): arguments.max_tokens
    }
    if arguments.temperature is not None:
        warmth = {"temperature": arguments.temperature}
        # This provider's client has no argument for it.
        settings |= {"extra_body": warmth} if arguments.provider == "anthropic" else warmth
    if arguments.several:
        settings["several"] = True
    packages = (*PACKAGES[arguments.provider], "agentlib-course")
    return {
        "provider": arguments.provider,
        "model": arguments.model or local.MODEL,
        "made_with": ", ".join(f"{package} {_version_of(package)}" for package in packages),
        "settings": settings,
    }


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of no known version"


def print_run(seed: int, run: Run) -> None:
    """Print one line about a run."""
    print(f"seed {seed}: {run.stopped} after {run.steps} steps, {run.errors} errors, answer: {run.answer}")


def run_record(arguments: argparse.Namespace) -> int:
    """Record runs. Returns 0 if all are there, 2 if that cannot be done, 130 if a person stopped it."""
    if arguments.provider == "local":
        arguments.temperature = 0.7 if arguments.temperature is None else arguments.temperature
        arguments.max_tokens = arguments.max_tokens or 96
        if arguments.model not in (None, local.MODEL):
            print(f"The local model is {local.MODEL}; leave --model out.", file=sys.stderr)
            return 2
    else:
        if arguments.several:
            print("--several is for the local model; a provider's asks as it likes.", file=sys.stderr)
            return 2
        arguments.max_tokens = arguments.max_tokens or 1_024
        if not arguments.model:
            print(f"Say with --model which model of {arguments.provider} is meant.", file=sys.stderr)
            return 2
    about = description(arguments)
    out, seeds = Path(arguments.out), range(arguments.seed, arguments.seed + arguments.runs)
    try:
        make_model = model_maker(arguments, about)
        files = record_runs(
            LABS[arguments.lab], make_model, out, seeds,
            about=about, max_steps=arguments.max_steps, on_run=print_run,
        )  # fmt: skip
    except (RecordingStopped, KeyboardInterrupt) as problem:
        print(
            problem or "Stopped.", "The runs before it are kept; the same command goes on.", file=sys.stderr
        )
        return 130 if isinstance(problem, KeyboardInterrupt) or "cancelled" in str(problem) else 2
    except (AgentLibError, ValueError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2
    print(f"{len(files)} runs are recorded in {out}{os.sep}")
    return 0


def add_record(commands: "Commands") -> None:
    """Add `record` to the command line."""
    parser = commands.add_parser(
        "record",
        help="run a lab with a real model and keep the runs",
        description="Run a lab many times with a real model; keep each run as a trace that replays offline.",
        epilog="A key is read from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY) and stands in no "
        "file. Runs cost money at a provider; the local model is free.",
    )
    parser.add_argument("lab", choices=LABS, help="the lab to run")
    parser.add_argument("--provider", required=True, choices=PROVIDERS, help="the provider of the model")
    parser.add_argument("--model", help="the provider's name for the model")
    parser.add_argument("--runs", type=number_from(1), default=20, help="how many runs (default: 20)")
    parser.add_argument(
        "--seed", type=number_from(0), default=1, help="the first run's; the others count up (default: 1)"
    )
    parser.add_argument("--out", required=True, help="the folder for the runs, one file each")
    parser.add_argument(
        "--max-steps", type=number_from(1), default=10, help="the limit of steps (default: 10)"
    )
    parser.add_argument("--temperature", type=float, help="how freely words are drawn (default, local: 0.7)")
    parser.add_argument(
        "--max-tokens", type=number_from(1), help="per reply (default, local: 96, others: 1024)"
    )
    parser.add_argument(
        "--several", action="store_true", help="the local model may ask for several tools in one reply"
    )
    parser.set_defaults(run=run_record)
