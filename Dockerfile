# The service in a small image: CPU build of torch, no root. See docs/serving.md.
# The full image of the first stage has a C compiler; nothing of it but /opt/mmalign is kept.
FROM python:3.12 AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
# The CPU build of torch is a tenth of the size of the default one.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN python -m venv /opt/mmalign \
    && /opt/mmalign/bin/pip install --no-cache-dir --extra-index-url "${TORCH_INDEX}" '.[serve]' \
    && /opt/mmalign/bin/python -m mmalign.experts.compile \
    && /opt/mmalign/bin/python -m mmalign.model.compile

FROM python:3.12-slim
RUN useradd --system --uid 10001 mmalign
COPY --from=build /opt/mmalign /opt/mmalign
ENV PATH=/opt/mmalign/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1
USER 10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz')"]
# Mount a run at /run/model, read-only.
ENTRYPOINT ["mmalign", "serve"]
CMD ["/run/model", "--host", "0.0.0.0"]
