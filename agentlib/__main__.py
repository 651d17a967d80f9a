import signal
import sys

from agentlib._platform import HERE, NO_COMMANDS

if not HERE.processes:  # before anything is loaded that cannot be here
    sys.exit(NO_COMMANDS)

from agentlib.course.cli import main

code = main()
if code == 130:  # it was stopped, and tidies up; a second Ctrl-C has nothing more to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
raise SystemExit(code)
