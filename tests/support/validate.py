"""Validates JSON on standard input against the schema in the file named; exits 77 if jsonschema is not installed."""
import json
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: Python's jsonschema is not installed (python3-jsonschema)")
    sys.exit(77)



def forbid_unknown_keys(part):
    """Makes the schema refuse keys that it does not describe. The published schema allows unknown keys, so that
    readers accept later versions. But the schema must describe every key that we write."""
    if isinstance(part, dict):
        if "properties" in part:
            part.setdefault("additionalProperties", False)
        for value in part.values():
            forbid_unknown_keys(value)
    elif isinstance(part, list):
        for value in part:
            forbid_unknown_keys(value)


with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
forbid_unknown_keys(schema)
report = json.load(sys.stdin)
jsonschema.Draft7Validator.check_schema(schema)
errors = list(jsonschema.Draft7Validator(schema).iter_errors(report))
for error in errors[:10]:
    print("/".join(map(str, error.absolute_path)), error.message[:200])
sys.exit(1 if errors else 0)
