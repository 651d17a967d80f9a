"""Markup of the views: text never becomes a part of it, and what says the same is made once."""

import pytest

from agentlib.views.shown import Html, bold, folded, joined_html, static_html, table, tag


@pytest.mark.parametrize(
    ("made", "page"),
    [
        (tag("p", "a < b & c"), "<p>a &lt; b &amp; c</p>"),
        (tag("p", Html("<b>x</b>"), "<b>"), "<p><b>x</b>&lt;b&gt;</p>"),
        (tag("p", tag("em", "<i>")), "<p><em>&lt;i&gt;</em></p>"),
        (tag("td", style='"x"', aria_label="a>b"), '<td style="&quot;x&quot;" aria-label="a&gt;b"></td>'),
        (tag("details", open=True, class_="c"), '<details open class="c"></details>'),
        (tag("img", alt="it's"), '<img alt="it&#x27;s">'),
        (joined_html("<", bold("&")), "&lt;<strong>&amp;</strong>"),
        (folded("<s>", "<t>"), "<details><summary>&lt;s&gt;</summary>&lt;t&gt;</details>"),
        (
            static_html("s"),
            '<details open class="agentlib-static"><summary>s</summary></details>',
        ),
    ],
)
def test_whatever_is_not_markup_is_escaped(made, page):
    assert made == page
    assert isinstance(made, Html)


def test_text_that_was_put_together_with_markup_is_text():
    assert tag("p", "<i>" + tag("b", "x")) == "<p>&lt;i&gt;&lt;b&gt;x&lt;/b&gt;</p>"


def test_a_table_says_the_same_in_both_forms():
    shown = table("T", ("", "n"), [["a", "1"]])
    assert str(shown).splitlines() == ["T", "   n", "-  -", "a  1"]
    assert shown.html.count("<tr>") == 2
