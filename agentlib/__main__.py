from agentlib.course.cli import main

raise SystemExit(main())
