"""The player's six colours: readable on light and dark grounds, and told apart by colour-blind eyes too."""

import itertools
import re
from pathlib import Path

import pytest

from agentlib.views import tracer as views_tracer

NAMES = ("ask", "check", "act", "record", "error", "repeat")
GROUNDS = (("#ffffff", "#f5f5f5"), ("#15181c", "#212121"))
"""The grounds of a page and of a pane, light and dark."""

# Machado, Oliveira and Fernandes (2009), "A Physiologically-based Model for Simulation of Color Vision
# Deficiency", severity 1.0, on linear RGB.
SEEN_BY = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}


def linear(colour):
    values = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def luminance(rgb):
    return sum(share * value for share, value in zip((0.2126, 0.7152, 0.0722), rgb, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(linear(one)), luminance(linear(other))))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    """CIE 1976 L*a*b* of linear RGB, white D65."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(a * b for a, b in zip(row, rgb, strict=True)) for row in rows]
    shares = [value / white for value, white in zip(xyz, (0.95047, 1.0, 1.08883), strict=True)]
    x, y, z = [share ** (1 / 3) if share > 0.008856 else 7.787 * share + 16 / 116 for share in shares]
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def colours(theme):
    css = Path(views_tracer.__code__.co_filename).with_name("player.css").read_text(encoding="utf-8")
    return {
        name: re.findall(rf"--agentlib-{name}: light-dark\((\S+), (\S+)\);", css)[0][theme] for name in NAMES
    }


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_each_colour_has_a_contrast_of_4_5_to_1_on_its_grounds(theme):
    found = {
        name: contrast(colour, ground) for name, colour in colours(theme).items() for ground in GROUNDS[theme]
    }
    assert min(found.values()) >= 4.5, found


@pytest.mark.parametrize("eyes", SEEN_BY)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colour_blind_eyes_tell_any_two_apart(theme, eyes):
    """A distance of 10 in L*a*b* is seen at a glance; signs and words say the same besides."""

    def seen(colour):
        rows = [sum(a * b for a, b in zip(row, linear(colour), strict=True)) for row in SEEN_BY[eyes]]
        return lab([min(1, max(0, value)) for value in rows])

    points = {name: seen(colour) for name, colour in colours(theme).items()}
    for one, other in itertools.combinations(NAMES, 2):
        apart = sum((a - b) ** 2 for a, b in zip(points[one], points[other], strict=True)) ** 0.5
        assert apart >= 10, (one, other)


def test_a_sign_has_one_shape_in_the_player_and_in_the_tables():
    folder = Path(views_tracer.__code__.co_filename).parent
    drawn = (folder / "player.js").read_text(encoding="utf-8")
    css = (folder / "player.css").read_text(encoding="utf-8")
    for name in (*NAMES, "stop"):
        (path,) = re.findall(rf'^  {name}: "(.*)",$', drawn, re.MULTILINE)
        assert re.search(rf"^\.agentlib-{name} {{ .* d='{re.escape(path)}'/>", css, re.MULTILINE), name
