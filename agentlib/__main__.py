import sys

from agentlib._platform import HERE, NO_COMMANDS

if not HERE.processes:  # before anything is loaded that cannot be here
    sys.exit(NO_COMMANDS)

from agentlib.course.cli import main

raise SystemExit(main())
