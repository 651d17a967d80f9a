"""Keeps JupyterLab's keys away from widgets: with the focus on a slider, `d d` would delete the cell."""

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets

__all__ = ["HANDLE", "Guard", "guarded"]

HANDLE = "#1976d2"
"""The colour of a slider's handle: above 3 to 1 against a white and a dark page (WCAG 2.2, 1.4.11)."""


class Guard(anywidget.AnyWidget):
    """Shows nothing of its own. Guards every widget in its output, names sliders, lets their focus be seen.

    It says so where a slider no longer reaches Python, and why a number that was typed is not taken.
    """

    _esm = Path(__file__).parent / "guard.js"
    _css = Path(__file__).parent / "guard.css"


def guarded(*widgets: Any) -> ipywidgets.VBox:
    """Put widgets beneath each other, guarded, with sliders whose handle stands out in both themes."""
    for widget in widgets:
        for slider in (widget, *getattr(widget, "children", ())):
            if isinstance(slider, ipywidgets.IntSlider):
                slider.style.handle_color = HANDLE
    return ipywidgets.VBox([*widgets, Guard()])
