"""What one request, and all requests together, may ask of the service."""

from dataclasses import asdict, dataclass

from mmalign.errors import ConfigError

MEBIBYTE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds that keep the service alive; `GET /v1/model` tells them.

    Attributes:
        max_bytes: Bytes of a request's body.
        max_clips: Clips of a request.
        max_steps: Steps of a sequence.
        max_plan_steps: Steps of a sequence when plans are asked for, which grow with its square.
        max_batch: Clips that are computed at once.
        max_queue: Clips that may wait; beyond that, requests are refused with 503.
        queue_seconds: So much computing may wait; of clips that take long, fewer wait.
        max_streams: Open stream sessions.
        request_seconds: How long a request may take to arrive, and an answer to be read.
    """

    max_bytes: int = 8 * MEBIBYTE
    max_clips: int = 256
    max_steps: int = 2000
    max_plan_steps: int = 256
    max_batch: int = 32
    max_queue: int = 96
    queue_seconds: float = 0.01
    max_streams: int = 64
    request_seconds: float = 10.0

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be > 0, got {value}" for name, value in asdict(self).items() if value <= 0
        ]
        if problems:
            raise ConfigError(problems)
