"""Definitions of the ROS 2 messages that the MCAP exporter writes, as ``ros2 interface show`` prints their fields."""

from __future__ import annotations

FIELDS: dict[str, str] = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "builtin_interfaces/Duration": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/String": "string data",
    "std_msgs/ColorRGBA": "float32 r\nfloat32 g\nfloat32 b\nfloat32 a",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation",
    "geometry_msgs/PoseStamped": "std_msgs/Header header\ngeometry_msgs/Pose pose",
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose\nfloat64[36] covariance",
    "geometry_msgs/Twist": "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular",
    "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist\nfloat64[36] covariance",
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation",
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "nav_msgs/Odometry": (
        "std_msgs/Header header\nstring child_frame_id\n"
        "geometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist"
    ),
    "nav_msgs/Path": "std_msgs/Header header\ngeometry_msgs/PoseStamped[] poses",
    "sensor_msgs/LaserScan": (
        "std_msgs/Header header\nfloat32 angle_min\nfloat32 angle_max\nfloat32 angle_increment\n"
        "float32 time_increment\nfloat32 scan_time\nfloat32 range_min\nfloat32 range_max\n"
        "float32[] ranges\nfloat32[] intensities"
    ),
    "sensor_msgs/CompressedImage": "std_msgs/Header header\nstring format\nuint8[] data",
    "visualization_msgs/UVCoordinate": "float32 u\nfloat32 v",
    "visualization_msgs/MeshFile": "string filename\nuint8[] data",
    "visualization_msgs/Marker": (
        "std_msgs/Header header\nstring ns\nint32 id\nint32 type\nint32 action\n"
        "geometry_msgs/Pose pose\ngeometry_msgs/Vector3 scale\nstd_msgs/ColorRGBA color\n"
        "builtin_interfaces/Duration lifetime\nbool frame_locked\n"
        "geometry_msgs/Point[] points\nstd_msgs/ColorRGBA[] colors\n"
        "string texture_resource\nsensor_msgs/CompressedImage texture\n"
        "visualization_msgs/UVCoordinate[] uv_coordinates\nstring text\n"
        "string mesh_resource\nvisualization_msgs/MeshFile mesh_file\nbool mesh_use_embedded_materials"
    ),
    "visualization_msgs/MarkerArray": "visualization_msgs/Marker[] markers",
}


def definition(name: str) -> str:
    """The fields of a message, then those of every message within it, as MCAP's ``ros2msg`` encoding wants them."""
    wanted = [name]
    for each in wanted:
        types = (line.split()[0].partition("[")[0] for line in FIELDS[each].splitlines())
        wanted += [kind for kind in types if kind in FIELDS and kind not in wanted]
    parts = [FIELDS[name], *(f"MSG: {each}\n{FIELDS[each]}" for each in wanted[1:])]
    return f"\n{'=' * 80}\n".join(parts) + "\n"


def full_name(name: str) -> str:
    """``nav_msgs/Odometry`` as ROS 2 names it: ``nav_msgs/msg/Odometry``."""
    return name.replace("/", "/msg/")
