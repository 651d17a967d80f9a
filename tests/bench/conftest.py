"""Prints what the benchmarks measured, as one table at the end, with no need for `-s`.

A benchmark hands over a row with `record_property("row", [what, agentlib, beside it, ratio, goal])`.
pytest keeps such properties in its reports, so the table also comes out with pytest-xdist.
"""

HEAD = ["", "agentlib", "beside it", "ratio", "goal"]


def pytest_terminal_summary(terminalreporter):
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    rows = [
        row
        for report in sorted(reports, key=lambda report: report.start)
        if report.when == "call"
        for name, row in report.user_properties
        if name == "row"
    ]
    if not rows:
        return
    widths = [max(len(row[column]) for row in [HEAD, *rows]) for column in range(len(HEAD))]
    terminalreporter.section("what the loop costs, measured side by side in this run")
    for row in [HEAD, *rows]:
        what, *numbers, goal = [
            cell.ljust(width) if column in (0, len(HEAD) - 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        terminalreporter.write_line("  ".join([what, *numbers, goal]).rstrip())
