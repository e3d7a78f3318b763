"""``sidestep serve``: a suite for a policy in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sidestep.cli.run import OutFolder, new_folder, resumable, tell_result
from sidestep.cli.verb import AsJson, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.runs.serve import Host

DEFAULT_ADDRESS = "127.0.0.1:5577"


@verb
def serve(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path to a YAML file or folder.")],
    listen: Annotated[
        str | None,
        typer.Option(
            help=f"HOST:PORT (port 0: any) or unix:PATH; default {DEFAULT_ADDRESS}. Of socnavbench: unix:PREFIX."
        ),
    ] = None,
    protocol: Annotated[Literal["sidestep", "socnavbench"], typer.Option(help="What the client speaks.")] = "sidestep",
    name: Annotated[
        str | None, typer.Option(help="The policy's name in the run, instead of what it announces.")
    ] = None,
    scenario: Annotated[str | None, typer.Option(help="Only scenarios whose name matches this pattern.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N scenarios.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed.")] = 0,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Suite option key=value.")] = None,
    mode: Annotated[
        Literal["sync", "async", "latency"], typer.Option(help="What the world does while the policy thinks.")
    ] = "sync",
    latency: Annotated[
        float | None,
        typer.Option(min=0.0, help="Mode latency: compute time charged per decision, s; measured if left out."),
    ] = None,
    out: OutFolder = None,
    token: Annotated[
        str | None, typer.Option(envvar="SIDESTEP_TOKEN", help="What the client must show; required off this machine.")
    ] = None,
    act_limit: Annotated[float, typer.Option(min=0.001, help="Time for an answer, s; more costs the episode.")] = 10.0,
    reconnect: Annotated[float, typer.Option(min=0.0, help="Time for a client that died to come back, s.")] = 30.0,
    dynamics: Annotated[
        Literal["holonomic", "unicycle"], typer.Option(help="How a SocNavBench client moves where it may choose.")
    ] = "holonomic",
    as_json: AsJson = False,
) -> None:
    """Wait for a policy in another process, and run SUITE with it. Re-running with the same --out resumes."""
    from sidestep.cli.run import split_suite_options
    from sidestep.cli.verb import prepare_kernels, progress_bar
    from sidestep.runs.plan import Plan, PolicyPlan, make_plan
    from sidestep.runs.score import summarise_run
    from sidestep.runs.serve import serve_plan as serve_plan
    from sidestep.suites.files import choose_options, load_suite, option_names

    def plan_for(policy: PolicyPlan) -> Plan:
        return make_plan(
            chosen,
            [policy],
            scenario_glob=scenario,
            limit=limit,
            seed=seed,
            mode=mode,
            latency_s=latency,
            act_limit_s=act_limit,
        )

    with quiet_stdout(as_json):
        chosen = load_suite(suite)
        options, left = split_suite_options(set_ or [], option_names(chosen))
        if left:
            raise BadInput(f"--set {left[0]}: suite {chosen.name!r} has no such option; a remote policy sets itself")
        chosen = choose_options(chosen, options)
        plan_for(PolicyPlan(name="stop"))  # what is wrong with the plan is said before anybody connects
        folder = out if out is not None else new_folder(chosen.name)
        host = _host(protocol, listen, name, token, reconnect, dynamics)
        with resumable(folder):
            prepare_kernels()
            with progress_bar("episodes") as move:
                result = serve_plan(host, plan_for, folder, lambda done, of, task, _: move(done, of, task.label))
        summary = summarise_run(result)
    tell_result(result, summary, as_json)


def _host(
    protocol: str, listen: str | None, name: str | None, token: str | None, reconnect: float, dynamics: str
) -> Host:
    from sidestep.remote.host import SidestepHost
    from sidestep.remote.joystick import DEFAULT_PREFIX, JoystickHost

    if protocol == "sidestep":
        return SidestepHost(listen or DEFAULT_ADDRESS, token=token, name=name, reconnect_s=reconnect, say=say)
    prefix = f"unix:{DEFAULT_PREFIX}" if listen is None else listen
    if not prefix.startswith("unix:"):
        raise BadInput(f"--listen {prefix}: SocNavBench's protocol runs over Unix sockets; give unix:PREFIX")
    return JoystickHost(prefix.removeprefix("unix:"), name=name, dynamics=dynamics, reconnect_s=reconnect, say=say)
