"""`metainfer`: the entry point. It imports little, so that an interrupt at any time ends well."""

from __future__ import annotations

import sys

from metainfer.cli.boundary import DONE, end_on_signals, guarded


def main() -> int:
    """Run the command of this process; its exit code, unless a command has ended the process."""
    end_on_signals()
    return guarded(_commands)


def _commands() -> int:
    from metainfer.cli.commands import app

    app(prog_name="metainfer")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
