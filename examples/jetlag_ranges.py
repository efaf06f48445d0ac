"""Ranges of a Python program for `jetlag trace`, with the calls that CV-CUDA's samples have (CvCudaPerf).

    from jetlag_ranges import Ranges

    ranges = Ranges()
    ranges.push_range("run")
    for index, images in enumerate(batches):
        ranges.push_range("batch", batch_idx=index)
        ranges.push_range("decode")
        ...
        ranges.pop_range()
        ranges.pop_range(total_items=len(images))
    ranges.pop_range()

    $ jetlag trace -o app.mcap -- python3 app.py && jetlag report app.mcap

Nothing is installed for it: under `jetlag trace` the library is named in the environment, and elsewhere the calls do nothing. Programs
that have NVTX (the package `nvtx`, torch.cuda.nvtx) need none of this: their ranges are taken in as they are. There, the items of a
batch are its payload, or that of a mark `jetlag.items` within it: `nvtx.mark("jetlag.items", payload=4)`.
"""

import ctypes
import os


class Ranges:
    """Ranges of the calling thread; they nest."""

    def __init__(self, *_ignored, **_also):
        path = os.environ.get("NVTX_INJECTION64_PATH") if os.environ.get("JETLAG_SPOOL") else None
        self._library = ctypes.CDLL(path) if path else None
        if self._library is not None:
            self._library.jetlag_range_push.argtypes = [ctypes.c_char_p]
            self._library.jetlag_range_push.restype = None
            self._library.jetlag_range_pop.argtypes = [ctypes.c_int64]
            self._library.jetlag_range_pop.restype = None

    def push_range(self, message, batch_idx=None):
        """A range begins; with an index it is a batch."""
        if self._library is not None:
            name = message if batch_idx is None else f"{message}_{batch_idx}"
            self._library.jetlag_range_push(name.encode())

    def pop_range(self, total_items=None, delete_range=False):
        """The range that began last ends. A batch with 0 items, or one to delete, marks the end of a stream and is no frame."""
        if self._library is not None:
            items = 0 if delete_range else -1 if total_items is None else int(total_items)
            self._library.jetlag_range_pop(items)

    def finalize(self):
        """As CV-CUDA's: there is nothing to do."""
