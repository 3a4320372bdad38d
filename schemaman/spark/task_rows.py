"""The rows in which tasks return scanned chunk parts; a Python worker loads no more than these need."""

from __future__ import annotations

import pickle
import sys

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


def forget_jars() -> None:
    """Remove the jars from the path of a Python worker: they hold no Python.

    A worker reads the directory of each archive on its path again in each task: a tenth of a second for
    Spark's own jar, a third for that of Iceberg. Source: pyspark 4.1, `worker_util.setup_spark_files` calls
    `importlib.invalidate_caches`; `PythonUtils.sparkPythonPath` adds Spark's own jar.
    """
    sys.path[:] = [path for path in sys.path if not path.endswith(".jar")]
    for path in [path for path in sys.path_importer_cache if path.endswith(".jar")]:
        del sys.path_importer_cache[path]
