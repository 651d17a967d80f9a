"""The tasks of lesson 08: which tools together can leak, a person's yes, and which links may be opened."""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from agentlib.course.quick_checks.task import SmallTask, Wrong, call
from agentlib.labs import poisoned
from agentlib.messages import Entry, ask


def can_leak(names: Collection[str], kinds: Mapping[str, str]) -> bool:
    """Tell whether these tools together can let private data out."""
    brought = {kinds[name] for name in names}
    return {"private data", "untrusted text", "way out"} <= brought


def may_run(request: Entry) -> bool:
    """Say yes to a mail to the customer, and to nothing else."""
    return bool(request["tool"] == "send_mail" and request["input"].get("to") == poisoned.CUSTOMER)


def may_open(url: str) -> bool:
    """Let the shop's own pages be opened, and no others."""
    return urlsplit(url).hostname == "shop.example"


def _answer(value: object) -> bool:
    """What counts of an answer: whether it is a yes."""
    return value is True


KINDS = {"diary": "private data", "news": "untrusted text", "clock": "nothing", "post": "way out"}

TASKS = (
    SmallTask(
        name="08 can leak",
        ours=can_leak,
        cases=(
            call(["diary", "news", "post"], KINDS, hint="`kinds[name]` says what a tool is"),
            call(["diary", "post", "clock"], KINDS, hint="Nobody here tells the model to send anything"),
            call(["diary", "news"], KINDS, hint="Told to send it, and no way to do so"),
            call(["news", "post", "clock"], KINDS, hint="There is nothing private to send"),
            call([], KINDS),
            call(["diary", "news", "clock"], KINDS, hint="Three kinds, and none of them a way out"),
            call(["clock", "post", "news", "diary"], KINDS, hint="More tools, and all three among them"),
        ),
        wrong=(
            Wrong('"untrusted text", ', "", "for (['diary', 'post', 'clock'], "),
            Wrong(', "way out"', "", "for (['diary', 'news'], "),
            Wrong(
                '{"private data", "untrusted text", "way out"} <= brought',
                "len(brought) >= 3",
                "for (['diary', 'post', 'clock'], ",
            ),
            Wrong('"way out"} <=', '"way out"} ==', "More tools, and all three among them"),
            Wrong("for name in names", "for name in kinds", "for (['diary', 'post', 'clock'], "),
        ),
    ),
    SmallTask(
        name="08 may run",
        ours=may_run,
        cases=(
            call(
                ask("send_mail", to=poisoned.CUSTOMER, text="Hello."),
                said="for a mail to the customer",
                hint="Only `True` is a yes",
            ),
            call(
                ask("send_mail", to="mira@home.example.evil.example"),
                look=_answer,
                said="for a mail to an address like hers",
            ),
            call(ask("send_mail", text="Hello."), look=_answer, said="for a mail to nobody"),
            call(
                ask("delete_customer", to=poisoned.CUSTOMER),
                look=_answer,
                said="for another tool",
                hint="It is the tool that counts as well",
            ),
            call(
                ask("send_mail_to_all", to=poisoned.CUSTOMER),
                look=_answer,
                said="for a tool with a name like it",
                hint="The whole name of the tool",
            ),
            call(
                ask("send_mail", to=[poisoned.CUSTOMER, "collector@mail.example"]),
                look=_answer,
                said="for a mail to her and to somebody else",
                hint="`==`, not `in`",
            ),
        ),
        wrong=(
            Wrong("== CUSTOMER", "[:4] == 'mira'", "for a mail to an address like hers"),
            Wrong('request["tool"] == "send_mail" and ', "", "for another tool"),
            Wrong('.get("to")', '["to"]', "for a mail to nobody, it raised KeyError"),
            Wrong('request["tool"] == "send_mail"', '"send_mail" in request["tool"]', "a name like it"),
            Wrong(
                'request["input"].get("to") == CUSTOMER',
                'CUSTOMER in request["input"].get("to", "")',
                "for a mail to an address like hers",
            ),
            Wrong(
                'request["input"].get("to") == CUSTOMER',
                'request["input"].get("to") in ([CUSTOMER, "collector@mail.example"], CUSTOMER)',
                "for a mail to her and to somebody else",
            ),
        ),
    ),
    SmallTask(
        name="08 may open",
        ours=may_open,
        cases=(
            call("https://shop.example/refunds"),
            call("https://count.example/?seen=card"),
            call("https://shop.example.count.example/", hint="The name goes on behind shop.example"),
            call("https://count.example/shop.example", hint="The host stands before the first single /"),
            call("https://shop.example@count.example/", hint="What stands before an @ is a user's name"),
            call("https://workshop.example/", hint="It ends with shop.example, and is another host"),
            call("https://shop.example:443/refunds", hint="443 is the port; `hostname` leaves it out"),
            call("https://count.shop.example/", hint="Exactly this host, and none in front of it"),
        ),
        wrong=(
            Wrong(
                'urlsplit(url).hostname == "shop.example"',
                '"shop.example" in url',
                "shop.example.count.example",
            ),
            Wrong(
                'urlsplit(url).hostname == "shop.example"',
                'url.split("/")[2].startswith("shop.example")',
                "shop.example.count.example",
            ),
            Wrong('hostname == "shop.example"', 'hostname.endswith("shop.example")', "workshop.example"),
            Wrong("hostname", "netloc", "443 is the port"),
            Wrong(
                'hostname == "shop.example"', 'hostname[-13:] in (".shop.example", "shop.example")', "count."
            ),
        ),
    ),
)
