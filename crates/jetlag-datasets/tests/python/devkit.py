"""What the datasets' own readers say of a folder, as JSON: nuScenes by nuscenes-devkit, KITTI by pykitti.

devkit.py nuscenes ROOT VERSION CHANNEL SWEEPS
devkit.py raw ROOT DATE DRIVE
devkit.py odometry ROOT SEQUENCE
"""

import json
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


def nuscenes(root, version, channel, sweeps):
    import numpy as np
    from nuscenes.nuscenes import NuScenes
    from nuscenes.utils.data_classes import LidarPointCloud

    nusc = NuScenes(version=version, dataroot=root, verbose=False)
    frames, clouds = [], []
    for sample in nusc.sample:
        points, times = LidarPointCloud.from_file_multisweep(nusc, sample, channel, channel, nsweeps=int(sweeps))
        clouds.append({
            "token": sample["data"][channel],
            "points": points.points.T.astype(float).round(6).tolist(),
            "time": times[0].tolist(),
        })
    for row in nusc.sample_data:
        if nusc.get("calibrated_sensor", row["calibrated_sensor_token"])["sensor_token"] != sensor_of(nusc, channel):
            continue
        boxes = nusc.get_boxes(row["token"])
        _, in_sensor, _ = nusc.get_sample_data(row["token"], box_vis_level=0)
        assert len(boxes) == len(in_sensor)
        described = []
        for box, there in zip(boxes, in_sensor):
            heading = there.rotation_matrix @ np.array([1.0, 0.0, 0.0])
            velocity = nusc.box_velocity(box.token)
            described.append({
                "token": box.token,
                "category": box.name,
                "global": list(box.center),
                "sensor": list(there.center),
                "wlh": list(there.wlh),
                "yaw": float(np.arctan2(heading[1], heading[0])),
                "velocity": None if np.isnan(velocity).any() else list(velocity),
            })
        frames.append({"token": row["token"], "boxes": described})
    return {"clouds": clouds, "frames": frames}


def sensor_of(nusc, channel):
    return next(row["token"] for row in nusc.sensor if row["channel"] == channel)


def calibration(data):
    names = ["P_rect_00", "P_rect_10", "P_rect_20", "P_rect_30", "T_cam0_velo", "T_cam2_velo", "T_cam3_velo", "K_cam2"]
    return {name: getattr(data, name).tolist() for name in names}


def raw(root, date, drive):
    import datetime

    import pykitti

    data = pykitti.raw(root, date, drive)
    epoch = datetime.datetime(1970, 1, 1)
    found = calibration(data.calib)
    found["T_velo_imu"] = data.calib.T_velo_imu.tolist()
    return {
        "calibration": found,
        "times_us": [(time - epoch) // datetime.timedelta(microseconds=1) for time in data.timestamps],
        "poses": [packet.T_w_imu.tolist() for packet in data.oxts],
    }


def odometry(root, sequence):
    import datetime

    import pykitti

    data = pykitti.odometry(root, sequence)
    return {
        "calibration": calibration(data.calib),
        "times_us": [time // datetime.timedelta(microseconds=1) for time in data.timestamps],
        "poses": [pose.tolist() for pose in data.poses],
    }


if __name__ == "__main__":
    readers = {"nuscenes": nuscenes, "raw": raw, "odometry": odometry}
    json.dump(readers[sys.argv[1]](*sys.argv[2:]), sys.stdout)
