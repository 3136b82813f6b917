"""Reads an MCAP file with the Python package `mcap` and prints what is in it as one JSON object.

    python -m pip install mcap
    python read_mcap.py FILE

It shows that an exported log can be read by a program that is not ours. Messages are read in the order of the file, with
all checksums; a file whose summary counts other messages than it has is refused.

| field | |
|---|---|
| `messages` | number of messages |
| `channels` | list of `topic`, `encoding`, `schema`, `schema_encoding`, `messages`, sorted by topic; without a schema both are `null` |
| `first_log_time`, `last_log_time` | of the first and the last message, in nanoseconds; `null` without messages |
| `log_times_in_order` | whether no message has an earlier log time than the one before it |
| `all_json_objects` | whether every message is JSON whose root is an object |

Exit codes: 0 the file could be read, 2 it could not.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader, SeekingReader


def is_json_object(data: bytes) -> bool:
    try:
        # Numbers are not converted: their size is not limited here.
        return isinstance(json.loads(data, parse_int=str, parse_float=str), dict)
    except ValueError:
        return False


def read(name: str) -> dict[str, Any]:
    with open(name, "rb") as file:
        summary = SeekingReader(file).get_summary()
        if summary is None or summary.statistics is None:
            raise McapError("the file has no summary with statistics")
        counts = {number: 0 for number in summary.channels}
        first = last = None
        in_order = all_objects = True
        file.seek(0)
        for _, channel, message in NonSeekingReader(file, validate_crcs=True).iter_messages(log_time_order=False):
            counts[channel.id] += 1
            if last is None:
                first = message.log_time
            elif message.log_time < last:
                in_order = False
            last = message.log_time
            all_objects = all_objects and is_json_object(message.data)
    messages = sum(counts.values())
    if messages != summary.statistics.message_count:
        raise McapError(f"the file has {messages} messages, but its summary says {summary.statistics.message_count}")

    channels = []
    for channel in sorted(summary.channels.values(), key=lambda channel: (channel.topic, channel.id)):
        schema = summary.schemas.get(channel.schema_id)
        channels.append(
            {
                "topic": channel.topic,
                "encoding": channel.message_encoding,
                "schema": schema and schema.name,
                "schema_encoding": schema and schema.encoding,
                "messages": counts[channel.id],
            }
        )
    return {
        "messages": messages,
        "channels": channels,
        "first_log_time": first,
        "last_log_time": last,
        "log_times_in_order": in_order,
        "all_json_objects": all_objects,
    }


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: read_mcap.py FILE", file=sys.stderr)
        return 2
    try:
        print(json.dumps(read(sys.argv[1])))
    except Exception as error:  # what the package raises for a damaged file is of many kinds
        print(f"{sys.argv[1]}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
