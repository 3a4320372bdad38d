"""Reads Avro object container files: the schema in front, and the body of each datum."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import fastavro

from schemaman.debezium.converters.avro import reduce_schema
from schemaman.errors import UnreadableInput


def read_container(stream: BinaryIO, where: str) -> tuple[str, Iterator[tuple[Any, bytes]]]:
    """Reads the schema of a container file, and its data in order: each decoded, and as bytes of its body.

    Logical types are not applied. Source: Avro specification, "Object Container Files".

    Raises:
        UnreadableInput: the file is no container, or damaged; `where` names it. The iterator raises it, too.
    """
    try:
        blocks = fastavro.block_reader(stream)
        text = json.dumps(blocks.writer_schema)
        schema = fastavro.parse_schema(json.loads(reduce_schema(text)))
    except Exception as fault:  # fastavro raises whatever the bytes lead it to
        raise _build_error(where, fault) from fault
    return text, _read_blocks(blocks, schema, where)


def _read_blocks(blocks: Any, schema: Any, where: str) -> Iterator[tuple[Any, bytes]]:
    try:
        for block in blocks:
            data = block.bytes_.read()
            body = io.BytesIO(data)
            for _ in range(block.num_records):
                start = body.tell()
                datum = fastavro.schemaless_reader(body, schema, None)
                yield datum, data[start : body.tell()]
    except Exception as fault:
        raise _build_error(where, fault) from fault


def encode_body(schema: str, datum: Any) -> bytes:
    """Encodes a datum as an Avro body of a schema. Raises `ValueError` if it does not fit."""
    body = io.BytesIO()
    try:
        fastavro.schemaless_writer(body, fastavro.parse_schema(json.loads(schema)), datum)
    except Exception as fault:
        raise ValueError(f"the row does not fit its Avro schema: {fault}") from fault
    return body.getvalue()


def _build_error(where: str, fault: Exception) -> UnreadableInput:
    return UnreadableInput(
        f"{where}: not a complete Avro container file ({type(fault).__name__}: {fault})",
        hint="write the file again, or copy it when its writer has finished",
    )
