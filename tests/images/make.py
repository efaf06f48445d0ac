"""Makes the images of this folder, and asks OpenCV which pixels it reads from them: expected.txt, a line a file with name,
width, height and checksum of the RGB pixels. src/source/images/decode.rs is held against it.

With `--check` nothing is written, and OpenCV's answers are compared. OpenCV 5.0.0 of PyPI on x86-64 made the file; 4.12.0
agrees but for exif_behind_xmp.jpg, whose orientation it does not find.

Needs NumPy, Pillow and opencv-python-headless: python3 tests/images/make.py [--check]
"""

import io
import struct
import sys
import zlib
from pathlib import Path

import cv2
import numpy
from checksum import checksum
from PIL import Image

here = Path(__file__).parent
check = "--check" in sys.argv
# Smooth colour, hard edges and noise, in a size that is no multiple of a block: every rounding shows.
y, x = numpy.mgrid[0:27, 0:37]
picture = numpy.stack([x * 6, y * 9, (x + y) * 4], axis=2)
picture[6:20, 9:23] = [230, 20, 40]
picture += numpy.random.default_rng(7).integers(-20, 21, picture.shape)
picture = Image.fromarray(picture.clip(0, 255).astype(numpy.uint8))
small = picture.crop((4, 3, 17, 12))
names = []


def write(name, content):
    names.append(name)
    if not check:
        (here / name).write_bytes(content)


def encoded(image, kind, **options):
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def jpeg(image, **options):
    return encoded(image, "JPEG", quality=80, **options)


def with_adobe(content, change):
    """A JPEG whose Adobe segment is changed; its last byte says how colours are coded."""
    begin = content.index(b"\xff\xee")
    end = begin + 2 + int.from_bytes(content[begin + 2 : begin + 4], "big")
    return content[:begin] + change(content[begin:end]) + content[end:]


def oriented(number):
    exif = Image.Exif()
    exif[0x0112] = number
    return exif


write("420.jpg", jpeg(picture, subsampling=2))
write("422_progressive.jpg", jpeg(picture, subsampling=1, progressive=True))
write("444.jpg", jpeg(picture, subsampling=0))
write("grey.jpg", jpeg(picture.convert("L")))
write("rgb.jpg", jpeg(picture, keep_rgb=True))
cmyk = jpeg(picture.convert("CMYK"))
write("cmyk.jpg", cmyk)
write("cmyk_without_adobe.jpg", with_adobe(cmyk, lambda segment: b""))
write("ycck.jpg", with_adobe(cmyk, lambda segment: segment[:-1] + b"\x02"))
write("grey_cmyk.jpg", jpeg(picture.convert("L").convert("CMYK")))
for number in range(10):
    write(f"exif_{number}.jpg", jpeg(small, exif=oriented(number).tobytes()))
write("exif_6_cmyk.jpg", jpeg(small.convert("CMYK"), exif=oriented(6).tobytes()))
write("exif_8_grey.jpg", jpeg(small.convert("L"), exif=oriented(8).tobytes()))
big = b"Exif\0\0MM\0*" + struct.pack(">IH", 8, 2)
big += struct.pack(">HHI4s", 0x010F, 2, 4, b"abc\0") + struct.pack(">HHIHH", 0x0112, 3, 1, 7, 0) + bytes(4)
write("exif_big_endian.jpg", jpeg(small, exif=big))
long = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 1) + struct.pack("<HHII", 0x0112, 4, 1, 6)
write("exif_long.jpg", jpeg(small, exif=long + bytes(4)))
write("exif_cut.jpg", jpeg(small, exif=long[:-6]))
write("exif_fewer_entries.jpg", jpeg(small, exif=long[:14] + b"\x09\0" + long[16:]))
six = jpeg(small, exif=oriented(6).tobytes())
xmp = b"http://ns.adobe.com/xap/1.0/\0<x/>"
write("exif_behind_xmp.jpg", six[:2] + b"\xff\xe1" + struct.pack(">H", len(xmp) + 2) + xmp + six[2:])
three = oriented(3).tobytes()
write("exif_twice.jpg", six[:2] + b"\xff\xe1" + struct.pack(">H", len(three) + 2) + three + six[2:])


def with_bad_code(content, share=0.5):
    """A JPEG with sixteen ones within its scans, which are no Huffman code: libjpeg warns and goes on."""
    begin = content.index(b"\xff\xda")
    middle = begin + int((len(content) - begin) * share)
    return content[:middle] + b"\xff\x00\xff\x00\xff\x00" + content[middle + 6 :]


write("bad_code.jpg", with_bad_code(jpeg(picture, subsampling=2)))
write("bad_code_444.jpg", with_bad_code(jpeg(picture, subsampling=0)))
# In a scan of means, and in five of other places and bits.
for percent in (4, 25, 35, 52, 67, 90):
    progressive = jpeg(picture, subsampling=1, progressive=True)
    write(f"bad_code_progressive_{percent}.jpg", with_bad_code(progressive, percent / 100))
write("bad_code_grey.jpg", with_bad_code(jpeg(picture.convert("L"))))
write("bad_code_cmyk.jpg", with_bad_code(cmyk))
write("bad_code_restarts.jpg", with_bad_code(jpeg(picture, subsampling=2, restart_marker_rows=1)))
write("bad_code_exif.jpg", with_bad_code(jpeg(small, exif=oriented(6).tobytes())))
whole = jpeg(picture, subsampling=2)
write("more_bytes.jpg", whole[:-2] + b"\x00\x12\x34" + whole[-2:])


def png(name, image, **options):
    write(f"{name}.png", encoded(image, "PNG", **options))


def raw_png(name, bits, colour, rows):
    """A PNG of a kind that Pillow does not write."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = rows.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    signature = b"\x89PNG\r\n\x1a\n"
    content = chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    write(f"{name}.png", signature + content)


png("rgb", small)
png("rgba", Image.merge("RGBA", (*small.split(), small.convert("L"))))
png("grey", small.convert("L"))
png("grey_alpha", Image.merge("LA", (small.convert("L"), small.split()[0])))
png("grey_1_bit", small.convert("1"))
png("palette", small.quantize(17))
png("palette_transparent", small.quantize(7), transparency=3)
png("rgb_transparent", small, transparency=small.getpixel((2, 3)))
for number in (3, 6):
    png(f"exif_{number}", small, exif=oriented(number))
deep = numpy.random.default_rng(3).integers(0, 65536, (9, 13, 4)).astype(">u2")
for name, colour, channels in [("grey", 0, 1), ("rgb", 2, 3), ("grey_alpha", 4, 2), ("rgba", 6, 4)]:
    raw_png(f"{name}_16_bit", 16, colour, deep[:, :, :channels])

text = ""
for name in names:
    pixels = cv2.imread(str(here / name))[:, :, ::-1]
    text += f"{name} {pixels.shape[1]} {pixels.shape[0]} {checksum(pixels)}\n"
if check:
    stored = (here / "expected.txt").read_text()
    different = [line for line in text.splitlines() if line not in stored.splitlines()]
    assert stored == text, f"OpenCV {cv2.__version__} reads otherwise: {different}"
else:
    (here / "expected.txt").write_text(text)
