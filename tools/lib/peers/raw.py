"""The C program of the benchmarks, as a library in this process: the basis that engines are compared with."""

import ctypes
import os

_SIGNATURES = {
    "raw_open": (ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)),
    "raw_close": (None, (ctypes.c_void_p,)),
    "raw_load": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int)),
    "raw_write_with_outbox": (
        ctypes.c_int, (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64)),
    "raw_point_reads": (ctypes.c_int64, (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64)),
    "raw_change": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)),
    "raw_last_change": (ctypes.c_int64, (ctypes.c_void_p,)),
    "raw_produce_delta": (ctypes.c_int64, (ctypes.c_void_p, ctypes.c_int64)),
    "raw_apply_delta": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)),
    "raw_merge": (ctypes.c_int, (ctypes.c_void_p,) + (ctypes.c_int64,) * 5),
}


class RawLibrary:
    """The functions of the C program. A function that fails raises an error."""

    def __init__(self, path):
        # Resolves all symbols at once, so that an engine with its own SQLite cannot replace them later.
        library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL | os.RTLD_NOW)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            if result in (ctypes.c_int, ctypes.c_int64):
                function.errcheck = self._check
            setattr(self, name, function)

    @staticmethod
    def _check(result, function, arguments):
        if result < 0:
            raise RuntimeError(f"{function.__name__} failed")
        return result

    def open(self, path):
        """Opens a database with `synchronous=NORMAL`, and creates its tables."""
        database = self.raw_open(str(path).encode(), 0)
        if not database:
            raise RuntimeError(f"{path} could not be opened")
        return database

    def filled(self, path, rows):
        """Opens a database, and fills it with users."""
        database = self.open(path)
        self.raw_load(database, rows, 1_000, 0)
        return database
