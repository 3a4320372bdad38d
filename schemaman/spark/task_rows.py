"""The rows in which tasks return scanned chunk parts; a Python worker loads no more than these need."""

from __future__ import annotations

import gc
import pickle
import sys
from zipimport import zipimporter

import pyarrow as arrow

from schemaman.ingest.chunks import ChunkPart

SCHEMA = "part int, chunk int, take binary"
"""A row of a result: number of the part, number of the chunk in its file, the chunk part as bytes.

The bytes are empty if the records of the part must be sorted first."""

ARROW_SCHEMA = arrow.schema([("part", arrow.int32()), ("chunk", arrow.int32()), ("take", arrow.binary())])


def build_row(part: int, chunk: int, taken: ChunkPart | None) -> arrow.RecordBatch:
    """Build a row of a result."""
    # driver and executors run the same code, so that pickle restores equal values
    row = {"part": part, "chunk": chunk, "take": b"" if taken is None else pickle.dumps(taken)}
    return arrow.RecordBatch.from_pylist([row], ARROW_SCHEMA)


def quicken_next_task() -> None:
    """Forget the archives on the path of a Python worker, which it would read again in its next task.

    Jars leave the path, since they hold no Python. Other archives stay on it: an importer that is made anew
    knows their directories. A task reads each of some fifteen importers otherwise: a tenth of a second for
    PySpark's own archive, a third for the jar of Iceberg. Source: pyspark 4.1,
    `worker_util.setup_spark_files` calls `importlib.invalidate_caches`; `PythonUtils.sparkPythonPath` adds
    Spark's own jar; Python `zipimport`, `_zip_directory_cache`.
    """
    sys.path[:] = [path for path in sys.path if not path.endswith(".jar")]
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimporter):
            del sys.path_importer_cache[path]


def keep_modules() -> None:
    """Let the garbage collector pass over what a Python worker holds when its first task begins.

    PySpark collects garbage after each task. With all modules, that takes some hundredths of a second.
    Source: pyspark 4.1, `daemon.manager`; Python `gc.freeze`.
    """
    if not gc.get_freeze_count():
        gc.freeze()
