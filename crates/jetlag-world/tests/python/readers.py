"""What other people's readers see of a drive, as JSON.

readers.py nuscenes ROOT VERSION | kitti ROOT DATE DRIVE | bags BAG...
"""

import hashlib
import json
import pathlib
import sys
from unittest.mock import MagicMock

# What the readers draw, learn and show progress with is large, and nothing here comes near it.
for module in [
    "cachetools",
    "cv2",
    "matplotlib",
    "matplotlib.axes",
    "matplotlib.backends",
    "matplotlib.backends.backend_agg",
    "matplotlib.patches",
    "matplotlib.pyplot",
    "pandas",
    "sklearn",
    "sklearn.metrics",
    "tqdm",
]:
    sys.modules[module] = MagicMock()


def nuscenes(root, version):
    import numpy as np
    from nuscenes.nuscenes import NuScenes
    from nuscenes.utils.data_classes import LidarPointCloud
    from nuscenes.utils.splits import mini_val
    from PIL import Image

    nusc = NuScenes(version=version, dataroot=root, verbose=False)
    samples = []
    for sample in nusc.sample:
        lidar = nusc.get("sample_data", sample["data"]["LIDAR_TOP"])
        ego = nusc.get("ego_pose", lidar["ego_pose_token"])
        boxes = []
        for token in sample["anns"]:
            row, box = nusc.get("sample_annotation", token), nusc.get_box(token)
            assert nusc.get("instance", row["instance_token"])["nbr_annotations"] > 0
            heading = box.rotation_matrix @ np.array([1.0, 0.0, 0.0])
            velocity = nusc.box_velocity(token)
            boxes.append({
                "center": list(box.center),
                "wlh": list(box.wlh),
                "yaw": float(np.arctan2(heading[1], heading[0])),
                "velocity": None if np.isnan(velocity).any() else list(velocity),
                "attributes": [nusc.get("attribute", a)["name"] for a in row["attribute_tokens"]],
            })
        samples.append({"timestamp": sample["timestamp"], "ego": ego["translation"], "boxes": boxes})
    for instance in nusc.instance:
        # The links lead from the first box to the last, through all of them.
        token, count = instance["first_annotation_token"], 0
        while token:
            row = nusc.get("sample_annotation", token)
            assert row["instance_token"] == instance["token"]
            last, token, count = token, row["next"], count + 1
        assert (last, count) == (instance["last_annotation_token"], instance["nbr_annotations"])
    sample = nusc.sample[-1]
    cloud, _ = LidarPointCloud.from_file_multisweep(nusc, sample, "LIDAR_TOP", "LIDAR_TOP", nsweeps=10)
    sweeps, row = 0, nusc.get("sample_data", sample["data"]["LIDAR_TOP"])
    while row["prev"] and sweeps < 9:
        row, sweeps = nusc.get("sample_data", row["prev"]), sweeps + 1
    path, in_image, camera = nusc.get_sample_data(sample["data"]["CAM_FRONT"])
    assert Image.open(path).size == (640, 384) and camera.shape == (3, 3)
    ego = nusc.get("ego_pose", nusc.get("sample_data", sample["data"]["LIDAR_TOP"])["ego_pose_token"])
    mask = np.array(Image.open(nusc.map[0]["mask"].img_file))
    x, y, _ = ego["translation"]
    on_street = mask[mask.shape[0] - 1 - int(y * 10), int(x * 10)] == 255
    return {
        "samples": samples,
        "sweeps": sweeps,
        "multisweep_points": int(cloud.points.shape[1]),
        "projected": len(in_image),
        "on_street": bool(on_street),
        "splits": all(scene["name"] in mini_val for scene in nusc.scene),
    }


def kitti(root, date, drive):
    import datetime

    import pykitti

    data = pykitti.raw(root, date, drive)
    epoch = datetime.datetime(1970, 1, 1)
    frames = []
    for n in range(len(data)):
        frames.append({
            "microseconds": (data.timestamps[n] - epoch) // datetime.timedelta(microseconds=1),
            "pose": data.oxts[n].T_w_imu.tolist(),
            "points": len(data.get_velo(n)),
            "size": list(data.get_cam2(n).size),
        })
    import xml.etree.ElementTree

    name = pathlib.Path(root, date, f"{date}_drive_{drive}_sync", "tracklet_labels.xml")
    tracklets = xml.etree.ElementTree.parse(name).getroot().find("tracklets")
    boxes = []
    for item in tracklets.findall("item"):
        poses = item.find("poses").findall("item")
        assert len(poses) == int(item.find("poses").find("count").text)
        first = int(item.find("first_frame").text)
        for number, pose in enumerate(poses, first):
            place = [float(pose.find(name).text) for name in ("tx", "ty", "tz", "rz")]
            boxes.append([number, item.find("objectType").text, *place])
    return {
        "boxes": boxes,
        "frames": frames,
        "K_cam2": data.calib.K_cam2.tolist(),
        "T_cam2_velo": data.calib.T_cam2_velo.tolist(),
    }


def bags(*names):
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    found = []
    for name in names:
        store = get_typestore(Stores.ROS2_HUMBLE)
        digest, fields, widths, count = hashlib.sha256(), None, set(), 0
        with AnyReader([pathlib.Path(name)], default_typestore=store) as reader:
            for connection, time, raw in reader.messages():
                message = reader.deserialize(raw, connection.msgtype)
                digest.update(f"{connection.topic} {connection.msgtype} {time}".encode() + bytes(raw))
                count += 1
                if connection.topic == "/lidar_top":
                    fields = [field.name for field in message.fields]
                if connection.topic == "/cam_front/camera_info":
                    widths.add(message.width)
        found.append({"messages": count, "digest": digest.hexdigest(), "point_fields": fields, "widths": sorted(widths)})
    return found


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    print(json.dumps({"nuscenes": nuscenes, "kitti": kitti, "bags": bags}[kind](*arguments)))
