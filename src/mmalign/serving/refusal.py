"""A request that is refused: status, a code for programs, and a sentence for people."""

from typing import Any

from mmalign.errors import MMAlignError
from mmalign.serving.limits import Limits


class RefusalError(MMAlignError):
    """Why a request gets no answer; nothing of what the client sent is in it.

    Make a new one for each request: an exception keeps every frame that it was raised through.

    Args:
        status: The HTTP status.
        code: One word that programs can rely on.
        message: What is wrong, where, and what to do.
        limit: Name and value of the limit that was hit, if one was.
    """

    def __init__(
        self, status: int, code: str, message: str, limit: tuple[str, float] | None = None
    ) -> None:
        self.status = status
        self.code = code
        self.limit = limit
        super().__init__(message)

    def body(self) -> dict[str, Any]:
        """The answer's content."""
        error: dict[str, Any] = {"code": self.code, "message": str(self)}
        if self.limit is not None:
            error["limit"] = {"name": self.limit[0], "value": self.limit[1]}
        return {"error": error}


def over_limit(limits: Limits, name: str, what: str) -> RefusalError:
    """Refuse what is larger than a limit, by the limit's name."""
    value = getattr(limits, name)
    return RefusalError(413, "too_large", f"{what}; {name} is {value}.", (name, value))


def unfit(message: str) -> RefusalError:
    """Refuse what was understood but does not fit the model."""
    return RefusalError(422, "does_not_fit", message)


def unreadable(message: str) -> RefusalError:
    """Refuse what could not be parsed."""
    return RefusalError(400, "unreadable", message)


def too_slow(limits: Limits) -> RefusalError:
    """Refuse a request that does not come to its end."""
    limit = ("request_seconds", limits.request_seconds)
    return RefusalError(408, "too_slow", "The request took too long to arrive.", limit)


def busy() -> RefusalError:
    """Refuse what there is no time for."""
    return RefusalError(503, "busy", "The queue is full. Try again after the time in Retry-After.")


def stopping() -> RefusalError:
    """Refuse what comes too late."""
    return RefusalError(503, "stopping", "The service is stopping. Ask another one.")


def gone() -> RefusalError:
    """Give up on a request whose client has left; nobody will read this."""
    return unreadable("The client went away.")


RETRY_SECONDS = 1
"""What `Retry-After` says."""
