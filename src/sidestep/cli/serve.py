"""``sidestep serve``: evaluate a policy that runs in another process and connects over a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sidestep.cli.run import (
    Latency,
    Limit,
    Mode,
    OutFolder,
    ScenarioPattern,
    SuiteName,
    explain_missing_recordings,
    open_suite,
    print_result,
    resumable,
)
from sidestep.cli.verb import AsJson, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.runs.remote.host import Host

DEFAULT_ADDRESS = "127.0.0.1:5577"


Listen = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help=f"HOST:PORT (port 0: any free port) or unix:PATH. Default: {DEFAULT_ADDRESS}. "
        "With --protocol socnavbench: unix:PREFIX.",
    ),
]
Name = Annotated[
    str | None, typer.Option(help="Name of the policy in the run. Default: the name that the client sends.")
]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Option of the suite; repeatable.")
]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="SIDESTEP_TOKEN", help="Secret that the client must send; required if others can reach the address."
    ),
]
ActLimit = Annotated[
    float, typer.Option(min=0.001, help="Time limit per decision in seconds; the episode fails beyond it.")
]
Reconnect = Annotated[float, typer.Option(min=0.0, help="Time in seconds that a lost client has to connect again.")]
Dynamics = Annotated[
    Literal["holonomic", "unicycle"],
    typer.Option(help="Motion of a SocNavBench client where the scenario leaves it to the policy."),
]


@verb
def serve(
    suite: SuiteName,
    listen: Listen = None,
    protocol: Annotated[Literal["sidestep", "socnavbench"], typer.Option(help="Protocol of the client.")] = "sidestep",
    name: Name = None,
    scenario: ScenarioPattern = None,
    limit: Limit = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all episodes.")] = 0,
    set_: Assignments = None,
    mode: Mode = "sync",
    latency: Latency = None,
    out: OutFolder = None,
    token: Token = None,
    act_limit: ActLimit = 10.0,
    reconnect: Reconnect = 30.0,
    dynamics: Dynamics = "holonomic",
    as_json: AsJson = False,
) -> None:
    """Wait for a policy in another process and evaluate it on SUITE. The same command with the same --out resumes a
    run."""
    from sidestep._util.progress import progress_bar
    from sidestep.runs.folder import new_folder
    from sidestep.runs.plan import Plan, PolicyPlan, make_plan
    from sidestep.runs.runner import serve_plan
    from sidestep.runs.score import summarise_run
    from sidestep.simulation.prepare import prepare_kernels

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
        chosen, left = open_suite(suite, set_ or [])
        if left:
            raise BadInput(
                f"--set {left[0]}: suite {chosen.name!r} has no such option; settings of a remote policy are set where "
                "it runs"
            )
        plan = plan_for(PolicyPlan(name="stop"))  # reports errors of the plan before a client connects
        explain_missing_recordings(chosen, plan)
        folder = out if out is not None else new_folder(chosen.name)
        host = _host(protocol, listen, name, token, reconnect, dynamics)
        with resumable(folder):
            prepare_kernels()
            with progress_bar("episodes") as move:
                result = serve_plan(host, plan_for, folder, lambda done, of, task, _: move(done, of, task.label))
        summary = summarise_run(result)
    print_result(result, summary, as_json)


def _host(
    protocol: str, listen: str | None, name: str | None, token: str | None, reconnect: float, dynamics: str
) -> Host:
    from sidestep.runs.episode import why_not_built
    from sidestep.runs.remote.host import SidestepHost
    from sidestep.runs.remote.joystick import DEFAULT_PREFIX, JoystickHost

    if protocol == "sidestep":
        return SidestepHost(listen or DEFAULT_ADDRESS, token=token, name=name, reconnect_s=reconnect, say=say)
    prefix = f"unix:{DEFAULT_PREFIX}" if listen is None else listen
    if not prefix.startswith("unix:"):
        raise BadInput(f"--listen {prefix}: SocNavBench's protocol runs over Unix sockets; give unix:PREFIX")
    return JoystickHost(
        prefix.removeprefix("unix:"),
        name=name,
        dynamics=dynamics,
        reason_not_built=why_not_built,
        reconnect_s=reconnect,
        say=say,
    )
