"""What a folder of results remembers of how they were graded, so that `--resume` need not be told again."""

import argparse
import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from agentlib.course.grading.files import write_whole
from agentlib.course.grading.limits import Limits

__all__ = ["SETTINGS_FILE", "Settings", "read_settings", "refused", "remember", "write_settings"]

SETTINGS_FILE = "settings.json"


@dataclass(frozen=True)
class Settings:
    """How a folder was graded.

    seed: of the batch. limits: for each submission.
    isolation: the name of the backend; on a cluster the one that was asked for, None = each worker chose.
    require: the weakest that was asked for on a cluster; None = any.
    dask: the address of the cluster; None = this machine.
    """

    seed: int
    limits: Limits
    isolation: str | None = None
    require: str | None = None
    dask: str | None = None


def write_settings(out: Path, settings: Settings) -> None:
    """Write settings into a folder of results, whole or not at all. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / SETTINGS_FILE, json.dumps(asdict(settings), indent=1) + "\n")


def read_settings(out: Path) -> Settings | None:
    """Read the settings in a folder of results; None if there are none that can be read."""
    try:
        about = json.loads((out / SETTINGS_FILE).read_text(encoding="ascii"))
        known = {field.name for field in fields(Limits)}  # an older course may have had others
        limits = Limits(**{name: value for name, value in about["limits"].items() if name in known})
        return Settings(**{**about, "limits": limits})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def refused(out: Path, given: argparse.Namespace, *, has_results: bool) -> str:
    """Say in one line why results cannot go on with the options that are given, "" if they can.

    given: as `grade` reads them. has_results: whether there are any in the folder.
    """
    old = read_settings(out) if given.resume else None
    if old is None:
        if given.seed is None and has_results:
            return (
                f"{out} does not say how it was graded ({SETTINGS_FILE} is missing or damaged). Give --seed, "
                "and the --limit and --isolation of then, or choose another --out."
            )
        return ""
    then_and_now: list[tuple[str, Any, Any]] = [("--seed", old.seed, given.seed)]
    then_and_now += [
        (f"--limit {name}", getattr(old.limits, name), number) for name, number in dict(given.limit).items()
    ]
    if old.dask is None and given.dask is not None:
        here = f"{old.isolation} on this machine"
        then_and_now.append(("--isolation", here, f"a cluster ({given.dask})"))
    else:
        then_and_now.append(("--isolation", old.isolation or "each worker's own", given.isolation))
    if old.dask is not None:
        then_and_now.append(("--require-isolation", old.require or "none", given.require_isolation))
    changed = [
        f"{name}: {'the default' if then is None else then} then, {now} now"
        for name, then, now in then_and_now
        if now not in (None, then)
    ]
    if not changed:
        return ""
    return f"{out} was graded otherwise ({'; '.join(changed)}). Leave that off, or choose another --out."


def remember(out: Path, given: argparse.Namespace) -> Limits:
    """Fill in what was not given: with --resume as it was, else the default. Gives the limits."""
    old = (read_settings(out) if given.resume else None) or Settings(0, Limits())
    given.seed = old.seed if given.seed is None else given.seed
    given.isolation = given.isolation or old.isolation
    given.require_isolation = given.require_isolation or old.require
    given.dask = given.dask or old.dask
    return replace(old.limits, **dict(given.limit))
