"""The checksum that stands for pixels here: src/source/images/checksum.rs has the same."""

import numpy


def mixed(index):
    """A number without a pattern for each index, 32 bits."""
    value = index.astype(numpy.uint32) * numpy.uint32(0x9E3779B1)
    value ^= value >> numpy.uint32(15)
    value *= numpy.uint32(0x2C1B3C6D)
    return value ^ (value >> numpy.uint32(12))


def checksum(pixels):
    """Of levels from 0 to 255, in RGB order, row by row."""
    levels = pixels.reshape(-1).astype(numpy.uint32)
    return int(numpy.sum((levels + numpy.uint32(1)) * mixed(numpy.arange(levels.size)), dtype=numpy.uint32))
