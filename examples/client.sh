#!/bin/sh
# A client of `masker serve` in a line: sh examples/client.sh positive 'The worst pizza I have ever had.'
# The text must have no " of its own; with a token: curl --header "Authorization: Bearer $MASKER_TOKEN" ...
curl --silent --show-error --fail-with-body http://127.0.0.1:8000/v1/edit --header 'Content-Type: application/json' \
  --data "{\"to\": \"$1\", \"text\": \"$2\"}"
