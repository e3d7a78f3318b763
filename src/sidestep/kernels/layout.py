"""Names of the rows of the arrays that hold a world.

Struct of arrays with a leading environment axis: ``agents (B, AGENT_ROWS, M)`` float32 and ``flags (B, FLAG_ROWS, M)``
int32, where columns ``0 … N-1`` are people and columns ``N … N+R-1`` mirror the robots, so that people can see them.
Vehicles are the last of the R robots. Further columns, up to M-1, are discs that cover the long ones among them: people
walk round these, and a vehicle's own column is only as large as the circle about its reference point that fits into it.
One row is contiguous in memory. The robots' own state is ``robots (B, R, ROBOT_ROWS)`` float64.
"""

# agents, float32: metres, metres per second, radians
PX, PY, VX, VY = 0, 1, 2, 3  # position and velocity of the body's centre, world frame
RADIUS = 4
PREF_SPEED, MAX_SPEED = 5, 6
SHARE = 7  # weight of this agent's part of a mutual avoidance: i takes SHARE_i / (SHARE_i + SHARE_j)
GOAL_X, GOAL_Y = 8, 9  # the waypoint that is walked to now
WISH_X, WISH_Y = 10, 11  # preferred velocity of this step
NEW_VX, NEW_VY = 12, 13  # what the crowd models write: velocity of the next step
HEADING = 14  # where the body faces
ENTER_TIME = 15  # when the person comes into the world; infinite once gone
LAG = 16  # steps of the recording's clock that a replayed person is behind; fractions while slowing down
PACE = 17  # how fast the own clock of a replayed person runs, 0 … 1
DELAY = 18  # s that the robot has cost a replayed person so far: the record's ``person_delay``
DETOUR = 19  # m that a replayed person has walked more than recorded: the record's ``person_detour``
HEAD_YAW = 20  # where the head turns from the heading; NaN: where the person is about to go
AGENT_ROWS = 21

# flags, int32
MODEL = 0  # which crowd model moves the agent, below
ACTIVE = 1  # 1 while in the world, else 0
GROUP = 2  # people of one walking group share a number; -1 alone
SEES_ROBOT = 3  # 0: the person does not react to robots
WAYPOINT = 4  # index of the waypoint that GOAL holds
AT_END = 5  # what the person does after the last waypoint, below
REACTIVITY = 6  # what a replayed person does when the robot interferes, below
DISTURBED = 7  # bits of this step, below
GESTURE = 8  # number of ``types.gestures.GESTURES``
FLAG_ROWS = 9

MODEL_NONE, MODEL_ORCA, MODEL_HELBING, MODEL_MOUSSAID, MODEL_REPLAY = 0, 1, 2, 3, 4
MODEL_SCRIPT = 5  # a director writes NEW_VX, NEW_VY before each step; walls are hard, others give way
MODEL_VEHICLE = 6  # of the columns of vehicles and of the discs that cover them
END_STAY, END_LEAVE, END_LOOP = 0, 1, 2
REACT_NONE, REACT_PAUSE, REACT_REROUTE = 0, 1, 2
IN_THE_WAY, OFF_RECORDING = 1, 2  # something is on the person's course; the person walks beside the recording

# walls, one row per edge of a closed, counter-clockwise solid polygon (agents are on the right of an edge)
# wall_points (W, 2) float32: first vertex of the edge · wall_dirs (W, 2) float32: unit vector to the next vertex
# wall_next, wall_prev (W,) int32 · wall_convex (W,) uint8: the first vertex is convex
# A square grid lists, for each cell, every edge within WALL_REACH of any point of the cell:
# cell_start (cells + 1,) int32, cell_items int32, grid (4,) float32 = (x0, y0, cell size, 0),
# grid_shape (2,) int32 = (nx, ny); cell = row * nx + column
WALL_REACH = 4.0

GROUP_GAP_M = 3.6  # people of a group who are farther apart have nothing between them: Hall's social distance (1966)
