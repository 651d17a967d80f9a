"""A clock that tests hold in their hands."""

__all__ = ["Clock"]


class Clock:
    """Goes on when something takes time, and by `step` seconds at each look. slept: the waits, in seconds.

    reads: how often somebody has looked.
    """

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step, self.reads = 100.0, step, 0
        self.slept: list[float] = []

    def __call__(self) -> float:
        self.reads += 1
        self.now += self.step
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.passes(seconds)
