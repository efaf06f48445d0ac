"""Writes bags with `rosbags`: make_bags.py FOLDER

Each has the same ten images and sweeps: plain, compressed by message and by file, as a database and as MCAP.
"""

import pathlib
import sys

import numpy
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    time, header = types["builtin_interfaces/msg/Time"], types["std_msgs/msg/Header"]
    image, cloud, field = (types[f"sensor_msgs/msg/{name}"] for name in ("Image", "PointCloud2", "PointField"))
    for plugin in (StoragePlugin.SQLITE3, StoragePlugin.MCAP):
        for mode in (None, CompressionMode.MESSAGE, CompressionMode.FILE, CompressionMode.STORAGE):
            if plugin == StoragePlugin.SQLITE3 and mode == CompressionMode.STORAGE:
                continue
            name = f"{plugin.name}_{mode.name if mode else 'NONE'}".lower()
            writer = Writer(folder / name, version=8, storage_plugin=plugin)
            if mode:
                writer.set_compression(mode, CompressionFormat.ZSTD)
            with writer:
                images = writer.add_connection("/image", image.__msgtype__, typestore=store)
                clouds = writer.add_connection("/points", cloud.__msgtype__, typestore=store)
                for n in range(10):
                    at = 10**18 + n * 10**8
                    stamp = header(stamp=time(sec=at // 10**9, nanosec=at % 10**9), frame_id="car")
                    pixels = numpy.full(8 * 6 * 3, n, dtype=numpy.uint8)
                    message = image(
                        header=stamp, height=6, width=8, encoding="rgb8", is_bigendian=0, step=24, data=pixels,
                    )  # fmt: skip
                    writer.write(images, at, store.serialize_cdr(message, image.__msgtype__))
                    points = numpy.full((50, 4), n, dtype=numpy.float32)
                    fields = [field(name=a, offset=4 * k, datatype=7, count=1) for k, a in enumerate(("x", "y", "z", "i"))]
                    message = cloud(
                        header=stamp, height=1, width=50, fields=fields, is_bigendian=False, point_step=16,
                        row_step=800, data=points.view(numpy.uint8).reshape(-1), is_dense=True,
                    )  # fmt: skip
                    writer.write(clouds, at + 5, store.serialize_cdr(message, cloud.__msgtype__))


if __name__ == "__main__":
    main()
