"""What is counted, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Of one service: several can live in one process."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("masker_requests", "Requests answered", ["path", "status"], registry=registry)
        self.seconds = Histogram("masker_request_seconds", "Seconds until the answer", ["path"], registry=registry)
        self.texts = Counter("masker_texts", "Texts rewritten or explained", ["method"], registry=registry)
        sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256)
        self.chunks = Histogram("masker_chunk_texts", "Texts at a time", ["lane"], registry=registry, buckets=sizes)
        self.waiting = Gauge("masker_waiting_texts", "Texts that wait for the model", ["lane"], registry=registry)

    def text(self) -> bytes:
        return generate_latest(self._registry)
