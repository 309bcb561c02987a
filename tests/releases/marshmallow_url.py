"""Addresses of files."""

from marshmallow import ValidationError, validate

is_url = validate.URL(schemes={"file"}, require_tld=False)
for address in ["file:///etc/hosts", "FILE:///etc/hosts"]:
    try:
        print(is_url(address))
    except ValidationError as problem:
        print(address, problem)
