"""What `import agentlib` costs in a fresh interpreter, beside what it is built on."""

import subprocess
import sys
from pathlib import Path
from statistics import median

MAX_IMPORT_SECONDS = 0.25
"""`import agentlib` takes at most so much CPU time. Reported, not asserted: it hangs on the machine."""

ROUNDS = 7
ROOT = Path(__file__).parents[2]


def import_seconds(statement):
    """Measure the CPU time of one import statement in an interpreter that has imported nothing else."""
    code = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_import_time(record_property):
    # `import pydantic` alone puts most of its work off; a check of arguments needs a TypeAdapter.
    beside = ("import pydantic", "from pydantic import TypeAdapter")
    statements = ("import agentlib", *beside)
    for statement in statements:
        import_seconds(statement)  # the first time may compile the modules and read them from a cold disk
    seconds = {statement: [] for statement in statements}
    for _ in range(ROUNDS):
        for statement in statements:
            seconds[statement].append(import_seconds(statement))
    ours = median(seconds["import agentlib"])
    for number, statement in enumerate(beside):
        met = "met" if ours <= MAX_IMPORT_SECONDS else "NOT MET"
        row = [
            f"import agentlib, beside {statement}",
            f"{ours:.3f} s",
            f"{median(seconds[statement]):.3f} s",
            f"{ours / median(seconds[statement]):.1f}",
            f"at most {MAX_IMPORT_SECONDS:g} s: {met}" if number == 0 else "",
        ]
        record_property("row", row)
