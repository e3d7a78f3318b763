"""``sidestep serve``: waits for a policy in another process and runs episodes with it.

``host`` admits policies that speak our protocol, ``joystick`` those that speak SocNavBench's (``joystick_state`` is how
a world looks in it), ``run`` puts either in front of the ordinary benchmark. What the policy's side and
``--policy remote:ADDRESS`` need is in ``sidestep.policies.remote``."""

from sidestep.serve.host import SidestepHost
from sidestep.serve.joystick import JoystickHost
from sidestep.serve.run import Host, serve

__all__ = ["Host", "JoystickHost", "SidestepHost", "serve"]
