# masker serve with the embedded model and its student: no torch, no network, no root.
#   docker build -t masker .
#   docker run --rm --read-only -p 127.0.0.1:8000:8000 masker
# tests/test_docker.py runs the steps below without an engine: keep to FROM, WORKDIR, COPY, ENV, RUN, USER and the like.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE masker-nlp.cdx.json ./
COPY masker masker
RUN python -m venv /opt/masker
RUN /opt/masker/bin/python -m pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ".[serve]"

FROM python:3.12-slim
COPY --from=build /opt/masker /opt/masker
ENV PATH=/opt/masker/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["masker"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
