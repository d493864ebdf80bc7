"""How much `masker serve` bears: `python benchmarks/serving.py --clients 64 --seconds 60 --method fast`.

Clients on this machine ask as fast as they are answered, each on a connection of its own. Its throughput is compared
with that of `masker edit` on the same texts, whose start is not counted.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import time
from collections import Counter
from itertools import count, cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from masker.bench.texts import default_texts

TO = "positive"
TEXTS = default_texts(500)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--method", default="fast")
    parser.add_argument("--lines", type=int, default=0, help="of the command line; 0: do not compare")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result = measure(options.clients, options.seconds, options.method)
    if options.lines:
        result["command_line"] = command_line(options.method, options.lines)
        result["ratio"] = round(result["texts_per_second"] / result["command_line"], 3)
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    print(json.dumps(result))


def measure(clients: int, seconds: float, method: str, *arguments: str) -> dict[str, Any]:
    """Start the service, ask it, and end it."""
    command = [sys.executable, "-m", "masker", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr
        try:
            found = re.match(r"Masker is at (http://\S+)", line := service.stderr.readline())
            assert found, line
            return asyncio.run(_ask(found[1], clients, seconds, method, service.pid))
        finally:
            service.terminate()
            service.wait(30)


async def _ask(url: str, clients: int, seconds: float, method: str, pid: int) -> dict[str, Any]:
    host, port = urlsplit(url).hostname or "", urlsplit(url).port or 0
    texts, numbers = cycle(TEXTS), count()
    statuses: Counter[int] = Counter()
    latencies: list[float] = []
    wrong: list[str] = []
    memory = [_memory(pid)]
    begun = time.perf_counter()

    async def client() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        while time.perf_counter() - begun < seconds:
            text = f"{next(texts)} {next(numbers)}"
            sent = time.perf_counter()
            status, answer = await _post(reader, writer, {"text": text, "to": TO, "method": method})
            latencies.append(time.perf_counter() - sent)
            statuses[status] += 1
            if status == 200 and json.loads(answer)["source"] != text:
                wrong.append(text)
        writer.close()

    async def watch() -> None:
        while True:
            await asyncio.sleep(max(0.5, seconds / 20))
            memory.append(_memory(pid))

    watching = asyncio.ensure_future(watch())
    await asyncio.gather(*(client() for _ in range(clients)))
    took = time.perf_counter() - begun
    watching.cancel()
    latencies.sort()
    return {
        "clients": clients, "seconds": round(took, 1), "method": method, "statuses": dict(statuses),
        "wrong": len(wrong), "texts_per_second": round(statuses[200] / took, 1),
        "p50_ms": round(1000 * latencies[len(latencies) // 2], 1),
        "p99_ms": round(1000 * latencies[len(latencies) * 99 // 100], 1),
        "memory_mb": memory,
    }  # fmt: skip


async def _post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fields: dict[str, Any]
) -> tuple[int, bytes]:
    """HTTP/1.1 by hand: a library would take more time than the service."""
    body = json.dumps(fields).encode()
    head = f"POST /v1/edit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    headers = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", headers, re.IGNORECASE)
    assert length
    return int(headers.split(b" ", 2)[1]), await reader.readexactly(int(length[1]))


def _memory(pid: int) -> int:
    """Megabytes that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found else 0


def command_line(method: str, lines: int) -> float:
    """Texts a second by `masker edit`."""

    def took(size: int) -> float:
        texts = "".join(f"{text} {k}\n" for k, text in zip(range(size), cycle(TEXTS), strict=False))
        begun = time.perf_counter()
        command = [sys.executable, "-m", "masker", "edit", "--to", TO, "--method", method, "--format", "jsonl"]
        subprocess.run(command, input=texts, text=True, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - begun

    start = took(1)
    return round((lines - 1) / (took(lines) - start), 1)


if __name__ == "__main__":
    main()
