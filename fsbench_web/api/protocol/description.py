"""What django-ninja does not say in the OpenAPI description: errors, 304, files."""

from typing import Any

from fsbench_web.platform.http import problems

_READ_HEADERS = {
    "ETag": {"description": "of this very answer", "schema": {"type": "string"}},
    "Link": {"description": "other pages of a list (RFC 8288)", "schema": {"type": "string"}},
    "X-Total-Count": {"description": "all that match, in lists", "schema": {"type": "integer"}},
}
_CONDITIONS = [
    {
        "name": "If-None-Match",
        "in": "header",
        "required": False,
        "description": "an `ETag` that you have: 304 where the answer is still that",
        "schema": {"type": "string"},
    },
    {
        "name": "If-Match",
        "in": "header",
        "required": False,
        "description": "412 unless the answer has this `ETag`",
        "schema": {"type": "string"},
    },
]


def complete_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Errors are problem documents, any call may be refused, and reads may be answered with 304."""
    for path, calls in schema["paths"].items():
        for method, call in calls.items():
            responses = call["responses"]
            is_health = path.endswith("/health") or "/health/" in path
            for status, answer in list(responses.items()):
                if int(status) >= 400 and not is_health:
                    _as_problem(answer)
            responses["default"] = {
                "description": "Refused: no account or right (401, 403), not there (404), not as "
                "it must be (400, 409, 412, 413, 422), too often (429 with Retry-After), or the "
                "database is away or busy (503)",
                "content": {
                    problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}
                },
            }
            if method == "get" and 200 in responses and not is_health:
                responses[200]["headers"] = {
                    name: sentence
                    for name, sentence in _READ_HEADERS.items()
                    if name == "ETag" or _is_list(call)
                }
                responses[304] = {"description": "As If-None-Match has it already"}
                call["parameters"] = [*call.get("parameters", []), *_CONDITIONS]
    return schema


def _as_problem(answer: dict[str, Any]) -> None:
    content = answer.get("content", {})
    if "application/json" in content:
        content[problems.MEDIA_TYPE] = content.pop("application/json")


def _is_list(call: dict[str, Any]) -> bool:
    return any(parameter["name"] == "offset" for parameter in call.get("parameters", []))


def binary(*media_types: str, status: int = 200, description: str = "The file") -> dict[str, Any]:
    """``openapi_extra`` of a call that answers with files."""
    content = {media_type: {"schema": _schema(media_type)} for media_type in media_types}
    return {"responses": {status: {"description": description, "content": content}}}


def _schema(media_type: str) -> dict[str, Any]:
    if media_type == "application/json":
        return {}
    is_text = media_type.startswith("text/")
    return {"type": "string"} if is_text else {"type": "string", "format": "binary"}
