"""Keeps JupyterLab's keys away from widgets: with the focus on a slider, `d d` would delete the cell."""

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets

__all__ = ["Guard", "guarded"]


class Guard(anywidget.AnyWidget):
    """Shows nothing. Guards every widget in the same output, and names sliders for screen readers."""

    _esm = Path(__file__).parent / "guard.js"


def guarded(*widgets: Any) -> ipywidgets.VBox:
    """Put widgets beneath each other, guarded."""
    return ipywidgets.VBox([*widgets, Guard()])
