"""Makes a bag of ROS 2, as MCAP, of scenes that `jetlag data synth` wrote: make_bag.py SCENES BAG.mcap"""

import pathlib
import sys

from mcap_ros2.writer import Writer

RULE = "=" * 80 + "\n"
HEADER = (
    f"{RULE}MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
    f"{RULE}MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
)
IMAGE = f"std_msgs/Header header\nstring format\nuint8[] data\n{HEADER}"
CLOUD = (
    "std_msgs/Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\n"
    f"uint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n{HEADER}"
    f"{RULE}MSG: sensor_msgs/PointField\nstring name\nuint32 offset\nuint8 datatype\nuint32 count\n"
)
FIELDS = [{"name": name, "offset": 4 * n, "datatype": 7, "count": 1} for n, name in enumerate(("x", "y", "z", "intensity"))]


def main() -> None:
    scenes = pathlib.Path(sys.argv[1])
    with open(sys.argv[2], "wb") as file:
        writer = Writer(file)
        image = writer.register_msgdef("sensor_msgs/msg/CompressedImage", IMAGE)
        cloud = writer.register_msgdef("sensor_msgs/msg/PointCloud2", CLOUD)
        for n, picture in enumerate(sorted((scenes / "image_2").iterdir())):
            at = n * 100_000_000
            header = {"stamp": {"sec": 0, "nanosec": at}, "frame_id": "car"}
            message = {"header": header, "format": "png", "data": picture.read_bytes()}
            writer.write_message("/camera/image/compressed", image, message, at, at)
            points = (scenes / "velodyne" / picture.with_suffix(".bin").name).read_bytes()
            message = {
                "header": header, "height": 1, "width": len(points) // 16, "fields": FIELDS, "is_bigendian": False,
                "point_step": 16, "row_step": len(points), "data": points, "is_dense": True,
            }  # fmt: skip
            writer.write_message("/lidar/points", cloud, message, at, at)
        writer.finish()


if __name__ == "__main__":
    main()
