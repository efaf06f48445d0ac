"""Makes the JPEG files of this folder and, as PNG, the pixels that libjpeg-turbo decodes from them.

Needs Pillow (its wheels carry libjpeg-turbo) and NumPy: python3 tests/images/make.py
"""

from pathlib import Path

import numpy
from PIL import Image, features

assert features.check_feature("libjpeg_turbo"), "this Pillow decodes with another library"
here = Path(__file__).parent
# Smooth colour, hard edges and noise, in a size that is no multiple of a block: every rounding shows.
y, x = numpy.mgrid[0:27, 0:37]
picture = numpy.stack([x * 6, y * 9, (x + y) * 4], axis=2)
picture[6:20, 9:23] = [230, 20, 40]
picture += numpy.random.default_rng(7).integers(-20, 21, picture.shape)
picture = Image.fromarray(picture.clip(0, 255).astype(numpy.uint8))
for name, image, options in [
    ("420", picture, {"subsampling": 2}),
    ("422_progressive", picture, {"subsampling": 1, "progressive": True}),
    ("444", picture, {"subsampling": 0}),
    ("grey", picture.convert("L"), {}),
    ("cmyk", picture.convert("CMYK"), {}),
]:
    image.save(here / f"{name}.jpg", quality=80, **options)
    Image.open(here / f"{name}.jpg").convert("RGB").save(here / f"{name}.png")
