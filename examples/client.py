"""A client of `masker serve` in ten lines, with nothing but Python: python examples/client.py positive < texts.txt"""

import json
import sys
from urllib.request import Request, urlopen

texts = sys.stdin.read().splitlines()
body = json.dumps({"texts": texts, "to": sys.argv[1], "method": "fast"}).encode()
request = Request("http://127.0.0.1:8000/v1/batch", body, {"Content-Type": "application/json"})
with urlopen(request) as answer:
    for line in answer:
        print(json.loads(line)["text"])
