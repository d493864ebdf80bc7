"""The addresses of the service, and what they answer."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import make_model
from starlette.testclient import TestClient

from masker.api import Masker
from masker.errors import MaskerError
from masker.web import app as application
from masker.web.guard import POLICY
from masker.web.limits import Limits

from .conftest import FROM, TEXT, TO


def test_an_edit_is_a_line_of_the_command_line(client: TestClient, embedded: Masker) -> None:
    answer = client.post("/v1/edit", json={"text": TEXT, "to": TO, "method": "fast"})
    assert answer.status_code == 200
    assert answer.json() == embedded.edit(TEXT, to=TO, method="fast").to_dict()
    for edit in answer.json()["edits"]:
        assert TEXT[edit["start"] : edit["end"]] == edit["old"]


def test_options_are_those_of_edit(client: TestClient, embedded: Masker) -> None:
    fields = {"method": "search", "top": 2, "strength": 0.7, "max_edits": 1, "keep": ["soup"], "forbid": ["great"]}
    answer = client.post("/v1/edit", json={"text": TEXT, "to": TO, "from": FROM, **fields})
    assert answer.json() == embedded.edit(TEXT, TO, FROM, **fields).to_dict()  # type: ignore[arg-type]


def test_an_explanation_is_that_of_the_command_line(client: TestClient, embedded: Masker) -> None:
    answer = client.post("/v1/explain", json={"text": "The soup was bland.", "to": TO})
    assert answer.json() == embedded.explain("The soup was bland.", to=TO, method="paper").to_dict()


def test_a_batch_comes_line_by_line_in_order(client: TestClient, embedded: Masker) -> None:
    texts = [f"Table {k} was bad." for k in range(300)] + [""]
    with client.stream("POST", "/v1/batch", json={"texts": texts, "to": TO, "method": "fast"}) as answer:
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        records = [json.loads(line) for line in answer.iter_lines()]
    assert [record["source"] for record in records] == texts
    alone = embedded.edit(texts[7], to=TO, method="fast").to_dict()
    assert (records[7].keys(), records[7]["text"]) == (alone.keys(), alone["text"])


def test_an_empty_batch_is_empty(client: TestClient, embedded: Masker) -> None:
    answer = client.post("/v1/batch", json={"texts": [], "to": TO})
    assert (answer.status_code, answer.text) == (200, "")


def test_models_tells_the_domains_and_methods(client: TestClient, embedded: Masker) -> None:
    told = client.get("/v1/models").json()
    (model,) = told["models"]
    assert [domain["name"] for domain in model["domains"]] == embedded.domains
    written = [name for name in embedded.domains if name not in embedded.model.settings.sources_only]
    assert len(model["tasks"]) == len(written) * (len(embedded.domains) - 1)
    first = model["tasks"][0]
    assert embedded.model.counterpart(first["to"]) == first["from"]
    for task in model["tasks"][:3]:
        for method in task["methods"]:
            embedded.editor(task["to"], task["from"], method=method)
    assert told["to"] == TO


@pytest.mark.parametrize("domains", [("plain",), ("rude", "civil"), ("a", "b", "c")])
def test_any_model_is_served(domains: tuple[str, ...]) -> None:
    """Of one domain, of two, and of three that have no counterparts."""
    with TestClient(application.create_app(Masker(make_model(domains=domains), device="cpu"))) as client:
        (model,) = client.get("/v1/models").json()["models"]
        for task in model["tasks"]:
            assert task["methods"] == ["paper"]
            fields = {"text": "the food was terrible .", "to": task["to"], "from": task["from"]}
            assert client.post("/v1/edit", json=fields).json()["to"] == task["to"]
        lone = client.post("/v1/edit", json={"text": "the food was terrible .", "to": domains[0]})
        assert lone.status_code == (422 if len(domains) == 3 else 200), lone.text


def test_health_and_metrics(client: TestClient, embedded: Masker) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    client.post("/v1/edit", json={"text": TEXT, "to": TO, "method": "fast"})
    metrics = client.get("/metrics").text
    assert 'masker_requests_total{path="/v1/edit",status="200"}' in metrics
    assert 'masker_texts_total{method="fast"}' in metrics
    assert 'masker_waiting_texts{lane="model"} 0.0' in metrics


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"to": "nowhere"}, "unknown domain 'nowhere'"),
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"method": "fast", "strength": 0.5}, "`strength` belongs to the method auto or search"),
        ({"colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"text": 3}, "text: Input should be a valid string"),
        ({"text": "half \ud83d"}, "text: Value error, half of a surrogate pair"),
        ({"protect": "(a+)+$"}, "protect: Input should be 'none' or 'names'"),  # patterns can take for ever
        ({"max_edits": 1000}, "max_edits: Input should be less than or equal to 20"),
    ],
)
def test_what_makes_no_sense_is_told(client: TestClient, embedded: Masker, fields: Any, reason: str) -> None:
    answer = client.post("/v1/edit", content=json.dumps({"text": TEXT, "to": TO, **fields}),
                         headers={"content-type": "application/json"})  # fmt: skip
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(reason)


def test_other_mistakes_are_told_in_json_too(client: TestClient) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("GET", "/v1/edit", 405), ("POST", "/v1/models", 405)):
        answer = client.request(method, path)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])
    broken = client.post("/v1/edit", content=b"{", headers={"content-type": "application/json"})
    assert broken.status_code == 422
    nothing = client.post("/v1/explain", json={"text": " ", "to": client.get("/v1/models").json()["to"]})
    assert nothing.json()["error"] == "the text has no words; nothing can be explained"


def test_limits_on_body_and_text(client_of: Callable[..., TestClient], embedded: Masker) -> None:
    client = client_of(Limits(max_body=2000, max_chars=100))
    long = client.post("/v1/edit", json={"text": "bad " * 30, "to": TO})
    assert (long.status_code, long.json()["error"][:40]) == (422, "the text has 120 characters, more than t")
    second = client.post("/v1/batch", json={"texts": ["bad", "bad " * 30], "to": TO})
    assert (second.status_code, second.json()["error"][:10]) == (422, "text 2 has")
    large = client.post("/v1/edit", json={"text": "bad " * 3000, "to": TO})
    assert (large.status_code, "2,000 bytes" in large.json()["error"]) == (413, True)

    def unsaid() -> Any:  # a body whose length is not told beforehand
        yield from [b"x" * 500] * 10

    assert client.post("/v1/edit", content=unsaid()).status_code == 413


def test_a_token_is_asked_for(client_of: Callable[..., TestClient]) -> None:
    client = client_of(token="s3cret")
    assert client.get("/").status_code == client.get("/healthz").status_code == 200
    for path in ("/v1/models", "/metrics", "/openapi.json", "/v2/languages"):
        for given in ({}, {"authorization": "Bearer other"}, {"authorization": "s3cret"}):
            answer = client.get(path, headers=given)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "token" in answer.json()["error"]
        assert client.get(path, headers={"authorization": "Bearer s3cret"}).status_code == 200


def test_a_token_that_nobody_can_send_is_refused(embedded: Masker) -> None:
    with pytest.raises(MaskerError, match=r"^`token` is not valid Unicode"):
        application.create_app(embedded, token="\udcff")


def test_every_answer_has_the_policy(client: TestClient) -> None:
    for path in ("/", "/v1/models", "/nothing", "/v1/edit"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert part in POLICY
    assert "unsafe" not in POLICY


def test_a_site_can_be_let_in(client_of: Callable[..., TestClient]) -> None:
    client = client_of(allow_origin="https://example.org", token="s3cret")
    asked = {"origin": "https://example.org", "access-control-request-method": "POST"}
    assert client.options("/v2/check", headers=asked).headers["access-control-allow-origin"] == "https://example.org"
    other = {**asked, "origin": "https://elsewhere.org"}
    assert "access-control-allow-origin" not in client.options("/v2/check", headers=other).headers


def test_who_asks_together_is_edited_together(client_of: Callable[..., TestClient], embedded: Masker) -> None:
    client = client_of()
    chunks = held(client)
    texts = [f"Table {k} was bad." for k in range(12)]

    def ask(text: str) -> dict[str, Any]:
        answer: dict[str, Any] = client.post("/v1/edit", json={"text": text, "to": TO, "method": "fast"}).json()
        return answer

    with ThreadPoolExecutor(12) as pool:
        first = pool.submit(ask, "first")
        assert chunks.begun.wait(5)
        answers = pool.map(ask, texts)
        until(lambda: waiting(client) == 11 or None)  # one of the twelve threads waits for the first
        chunks.free.set()
        assert [answer["source"] for answer in answers] == texts
    assert first.result()["source"] == "first"
    assert max(chunks.sizes) >= 11


def test_overload_is_refused(client_of: Callable[..., TestClient], embedded: Masker) -> None:
    client = client_of(Limits(max_queue=4))
    chunks = held(client)
    fields = {"text": TEXT, "to": TO, "method": "fast"}
    with ThreadPoolExecutor(4) as pool:
        taken = [pool.submit(client.post, "/v1/edit", json=fields) for _ in range(4)]
        until(lambda: (chunks.begun.is_set() and waiting(client) + max(chunks.sizes) == 4) or None)
        refused = client.post("/v1/edit", json=fields)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert "too many" in refused.json()["error"]
        assert client.get("/healthz").status_code == 200
        chunks.free.set()
        assert {answer.result().status_code for answer in taken} == {200}


def test_what_takes_too_long_is_given_up(client_of: Callable[..., TestClient], embedded: Masker) -> None:
    client = client_of(Limits(max_seconds=0.2))
    chunks = held(client)
    answer = client.post("/v1/edit", json={"text": TEXT, "to": TO, "method": "fast"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "0.2 seconds" in answer.json()["error"]
    chunks.free.set()


def test_a_busy_service_ends_at_once(embedded: Masker) -> None:
    """What is being worked on is answered, what waits is refused, and a batch has a line for every text."""
    with TestClient(application.create_app(embedded)) as client, ThreadPoolExecutor(3) as pool:
        chunks = held(client)
        fields = {"text": TEXT, "to": TO, "method": "fast"}
        first = pool.submit(client.post, "/v1/edit", json=fields)
        assert chunks.begun.wait(5)
        waits = pool.submit(client.post, "/v1/edit", json=fields)
        batch = pool.submit(client.post, "/v1/batch", json={"texts": [TEXT] * 500, "to": TO, "method": "fast"})
        until(lambda: waiting(client) > 100 or None)
        client.app.state.service.close()  # type: ignore[attr-defined]
        assert waits.result(5).status_code == 503
        lines = [json.loads(line) for line in batch.result(5).text.splitlines()]
        assert len(lines) == 500
        assert all("shutting down" in line["error"] for line in lines)
        chunks.free.set()
        assert first.result(5).status_code == 200


def test_nobody_waits_for_who_has_gone(embedded: Masker) -> None:
    """A text whose asker has left the queue is not worked on."""
    app = application.create_app(embedded)  # no thread was started: an answer would never come
    asyncio.run(asked(app, gone=True))
    (jobs,) = app.state.service._lanes["student"]._waiting.values()
    assert [job.future.cancelled() for job in jobs] == [True]


def test_a_server_that_waits_no_longer_refuses(embedded: Masker) -> None:
    async def cut_off() -> list[Any]:
        task = asyncio.ensure_future(asked(application.create_app(embedded), gone=False))
        await asyncio.sleep(0.1)
        task.cancel()
        return await task

    sent = asyncio.run(cut_off())
    assert sent[0]["status"] == 503
    assert b"shutting down" in sent[1]["body"]


async def asked(app: Any, *, gone: bool) -> list[Any]:
    """What an application sends to who asks, and then goes or stays."""
    body = json.dumps({"text": TEXT, "to": TO, "method": "fast"}).encode()
    scope = {
        "type": "http", "method": "POST", "path": "/v1/edit", "raw_path": b"/v1/edit", "query_string": b"",
        "root_path": "", "headers": [(b"content-type", b"application/json")], "http_version": "1.1",
    }  # fmt: skip
    messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        if not messages and not gone:
            await asyncio.sleep(60)
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def test_openapi_has_examples_that_work(client: TestClient, embedded: Masker) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/edit", "/v1/explain", "/v1/batch", "/v1/models", "/v2/check", "/v2/languages"} <= set(paths)
    for path in ("/v1/edit", "/v1/explain", "/v1/batch"):
        content = paths[path]["post"]["requestBody"]["content"]["application/json"]
        for example in content["examples"].values():
            assert client.post(path, json=example["value"]).status_code == 200
    form = paths["/v2/check"]["post"]["requestBody"]["content"]["application/x-www-form-urlencoded"]
    assert client.post("/v2/check", data=form["example"]).status_code == 200


# -- a service that is held in the middle of its work ------------------------------------------------------------------


class Held:
    def __init__(self) -> None:
        self.begun, self.free, self.sizes = threading.Event(), threading.Event(), [0]


def held(client: TestClient) -> Held:
    """Work waits until it is let go."""
    service, chunks = client.app.state.service, Held()  # type: ignore[attr-defined]
    for lane in service._lanes.values():

        def work(ask: Any, texts: list[str], do: Any = lane._work) -> Any:
            chunks.sizes.append(len(texts))
            chunks.begun.set()
            assert chunks.free.wait(20)
            return do(ask, texts)

        lane._work = work
    return chunks


def waiting(client: TestClient) -> int:
    return sum(map(len, client.app.state.service._lanes.values()))  # type: ignore[attr-defined]


def until(found: Callable[[], Any], seconds: float = 10) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (value := found()) is not None and value is not False:
            return value
        time.sleep(0.01)
    raise AssertionError("it did not happen")
