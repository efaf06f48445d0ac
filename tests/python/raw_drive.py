"""Scores the detections of a run on a raw drive of KITTI, with a reader of tracklets of its own, and prints KITTI's figures.

    raw_drive.py DRIVE DETECTIONS.csv TENANT > FIGURES.json

DRIVE is the drive's folder; the day's calibration lies above it. The figures are those of crates/jetlag-score/tests/python/kitti_ap.py.
"""

import csv
import json
import pathlib
import struct
import sys
import xml.etree.ElementTree

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "crates/jetlag-score/tests/python"))
import kitti_ap  # noqa: E402

HIDDEN = {"0": 0, "1": 1, "2": 2}


def lines(path):
    pairs = (line.split(":", 1) for line in path.read_text().splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def matrix(text, rows):
    return np.array([float(word) for word in text.split()]).reshape(rows, -1)


class Camera:
    def __init__(self, drive):
        cameras, lidar = lines(drive.parent / "calib_cam_to_cam.txt"), lines(drive.parent / "calib_velo_to_cam.txt")
        turn = matrix(cameras["R_rect_00"], 3)
        self.turn = turn @ matrix(lidar["R"], 3)
        self.shift = turn @ matrix(lidar["T"], 3).ravel()
        self.projection = matrix(cameras["P_rect_02"], 3)
        image = next((drive / "image_02/data").iterdir())
        self.size = struct.unpack(">II", image.read_bytes()[16:24])

    def label(self, kind, x, y, z, length, width, height, yaw):
        """A box of the LiDAR's frame, of which z is the lower side: its columns without truncation and occlusion, and the former."""
        corners = []
        for a in (-0.5, 0.5):
            for b in (-0.5, 0.5):
                for c in (0, 1):
                    u, v = a * length, b * width
                    along = [x + u * np.cos(yaw) - v * np.sin(yaw), y + u * np.sin(yaw) + v * np.cos(yaw), z + c * height]
                    corners.append(self.turn @ along + self.shift)
        corners = np.array(corners)
        if (corners[:, 2] < 0.1).any():
            return None
        seen = np.c_[corners, np.ones(8)] @ self.projection.T
        seen = seen[:, :2] / seen[:, 2:]
        whole = [*seen.min(0), *seen.max(0)]
        cut = [float(np.clip(v, 0, self.size[n % 2])) for n, v in enumerate(whole)]
        area = lambda b: (b[2] - b[0]) * (b[3] - b[1])  # noqa: E731
        if area(cut) <= 0:
            return None
        place = self.turn @ [x, y, z] + self.shift
        ahead = self.turn @ [np.cos(yaw), np.sin(yaw), 0]
        heading = np.arctan2(-ahead[2], ahead[0])
        alpha = heading - np.arctan2(place[0], place[2])
        alpha = np.arctan2(np.sin(alpha), np.cos(alpha))
        return [alpha, *cut, height, width, length, *place, heading], 1 - area(cut) / area(whole)


def truths(drive, camera):
    frames = {}
    for item in xml.etree.ElementTree.parse(drive / "tracklet_labels.xml").getroot().find("tracklets").findall("item"):
        kind = item.find("objectType").text
        height, width, length = (float(item.find(side).text) for side in "hwl")
        first = int(item.find("first_frame").text)
        for number, pose in enumerate(item.find("poses").findall("item"), first):
            x, y, z, yaw = (float(pose.find(name).text) for name in ("tx", "ty", "tz", "rz"))
            label = camera.label(kind, x, y, z, length, width, height, yaw)
            if label:
                hidden = HIDDEN.get(pose.find("occlusion").text, 3)
                frames.setdefault(number, []).append([kind, label[1], hidden, *label[0]])
    return frames


def found(path, tenant, camera):
    frames = {}
    for row in csv.DictReader(open(path)):
        if row["tenant"] != tenant:
            continue
        score = float(row["score"])
        if row["x_m"]:
            x, y, z, length, width, height, yaw = (
                float(row[name]) for name in ("x_m", "y_m", "z_m", "length_m", "width_m", "height_m", "yaw_rad")
            )
            label = camera.label(row["class"], x, y, z - height / 2, length, width, height, yaw)
            if label is None:
                continue
            one = [row["class"], 0, 0, *label[0], score]
        else:
            corners = [float(row[name]) for name in ("x1_px", "y1_px", "x2_px", "y2_px")]
            one = [row["class"], 0, 0, -10, *corners, 0, 0, 0, 0, 0, 0, 0, score]
        frames.setdefault(int(row["source_index"]), []).append(one)
    return frames


def main():
    drive, detections, tenant = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    camera = Camera(drive)
    labels, answers = truths(drive, camera), found(detections, tenant, camera)
    count = len(list((drive / "image_02/data").iterdir()))
    frames = [{"truths": labels.get(n, []), "found": answers.get(n, [])} for n in range(count)]
    figures = {name: of and of[0] for name, of in kitti_ap.answer({"frames": frames}).items()}
    print(json.dumps({"labels": sum(len(of) for of in labels.values()), "figures": figures}))


main()
