"""A group of commands of which one needs no name: ``sidestep pack RUN`` is ``sidestep pack run RUN``."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class GroupWithDefault(TyperGroup):
    """Arguments that do not begin with the name of a command go to the command ``default``."""

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the default command first where there is none."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
