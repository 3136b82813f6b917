"""Validates lines of a log against the JSON Schema of the format.

    python check_schema.py SCHEMA LOG [EVERY]

The first hundred lines, the last one, and of the others every EVERY-th (default 20) are looked at. Prints a JSON object with
the number of lines by type; exit code 1 with a sentence when a line does not fit. Needs `jsonschema` from PyPI.
"""

import json
import sys
from collections import Counter

from jsonschema import Draft202012Validator

FIRST = 100


def main(schema_file, log_file, every=20):
    with open(schema_file, encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    with open(log_file, encoding="utf-8", newline="\n") as file:
        lines = file.read().split("\n")[:-1]
    types = Counter()
    for number, text in enumerate(lines, start=1):
        if FIRST < number < len(lines) and number % every:
            continue
        line = json.loads(text)
        error = next(validator.iter_errors(line), None)
        if error is not None:
            sys.exit(f"{log_file}:{number}: does not fit {schema_file}: {error.message}")
        types[line["type"]] += 1
    print(json.dumps(types))


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:4]))
