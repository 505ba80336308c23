"""The two ways in which a command ends badly, and their exit codes."""


class InputError(Exception):
    """Something a user can put right. Exit code 2.

    The message is one sentence that names the thing, its value and what to do.
    """

    exit_code = 2


class BenchmarkError(Exception):
    """A benchmark ran and did not give what was asked for. Exit code 1."""

    exit_code = 1
