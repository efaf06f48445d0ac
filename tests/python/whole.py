"""What a network that takes a whole set is given, and what a heat map's head makes of its maps: from the set, by formulas of its own.

    whole.py SET.json > ANSWER.json
"""

import json
import sys

import numpy as np


def rigid(quaternion, translation):
    w, x, y, z = np.array(quaternion) / np.linalg.norm(quaternion)
    matrix = np.eye(4)
    # v' = v + 2 w (u x v) + 2 u x (u x v)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    matrix[:3, :3] = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    matrix[:3, 3] = translation
    return matrix


def prepared(image, size, scale, mean, std):
    """A letterbox of an image of the input's size, or of one that has one colour: no pixel of it is between two."""
    width, height = image["size"]
    pixels = np.array(image["rgb"], dtype=np.float64).reshape(height, width, 3)
    ratio = min(size[0] / width, size[1] / height)
    inner = [round(width * ratio), round(height * ratio)]
    left, top = (size[0] - inner[0]) // 2, (size[1] - inner[1]) // 2
    whole = np.full((size[1], size[0], 3), 114.0)
    if ratio != 1:
        assert (pixels == pixels[0, 0]).all()
        pixels = np.broadcast_to(pixels[0, 0], (inner[1], inner[0], 3))
    whole[top : top + inner[1], left : left + inner[0]] = pixels
    channels = whole[:, :, ::-1].transpose(2, 0, 1)  # BGR
    mean, std = np.array(mean).reshape(3, 1, 1), np.array(std).reshape(3, 1, 1)
    augmentation = np.eye(4)
    augmentation[0, 0], augmentation[1, 1] = inner[0] / width, inner[1] / height
    augmentation[:2, 3] = left, top
    return (channels * scale - mean) / std, augmentation


of = json.load(open(sys.argv[1]))
places = [(rigid(*place), rigid(*car)) for place, car in of["places"]]
(cameras, (lidar, car)) = places[:2], places[2]
images, augmentations = zip(
    *(prepared(image, of["input"], of["scale"], of["mean"], of["std"]) for image in of["images"])
)
inputs = {
    "images": np.stack(images),
    "points": np.array(of["points"]),
    "camera_intrinsics": np.array(of["intrinsics"]),
    "camera2ego": np.stack([place for place, _ in cameras]),
    "lidar2ego": lidar,
    # Through the map, in which the car moved between the captures.
    "lidar2camera": np.stack([np.linalg.inv(at @ place) @ car @ lidar for place, at in cameras]),
    "img_aug": np.stack(augmentations),
    "lidar_aug": np.eye(4),
}
inputs["camera2lidar"] = np.linalg.inv(inputs["lidar2camera"])
projections = []
for intrinsics, onto in zip(inputs["camera_intrinsics"], inputs["lidar2camera"]):
    whole = np.eye(4)
    whole[:3, :3] = intrinsics
    projections.append(whole @ onto)
inputs["lidar2image"] = np.stack(projections)
# x of the input is x / depth scaled and moved: its numerator is x scaled and depth moved.
moved = []
for projection, augmentation in zip(projections, augmentations):
    rows = projection.copy()
    for axis in range(2):
        rows[axis] = augmentation[axis, axis] * projection[axis] + augmentation[axis, 3] * projection[2]
    moved.append(rows)
inputs["lidar2input"] = np.stack(moved)


def boxes(mean_image):
    heat = inputs["lidar2image"][0] * 0.01 + mean_image * 0.01 + inputs["points"].mean()
    found = []
    for row in range(4):
        for column in range(4):
            at = lambda name, channel: inputs[name][channel, row, column]
            sides = [at("camera2ego", 0), at("camera2ego", 1), inputs["lidar2ego"][row, column]]
            yaw = np.arctan2(at("camera2ego", 0), at("camera2ego", 1))
            found.append(
                [
                    1 / (1 + np.exp(-heat[row, column])),
                    column + 0.01 * at("img_aug", 0),
                    row + 0.01 * at("img_aug", 1) - 2,
                    at("camera2lidar", 0),
                    *np.exp(0.01 * np.array(sides)),
                    np.sin(yaw),
                    np.cos(yaw),
                ]
            )
    return sorted(found, key=lambda box: -box[0])


json.dump(
    {
        "inputs": {name: values.ravel().tolist() for name, values in inputs.items()},
        # Of the images in one tensor, and of the first alone.
        "boxes": [boxes(inputs["images"].mean()), boxes(inputs["images"][0].mean())],
    },
    sys.stdout,
)
