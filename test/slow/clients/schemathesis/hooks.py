"""Schemathesis for Parley: values for formats, and what a document cannot say about valid requests."""

import os
from datetime import datetime, timezone

import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode

# The key that the run itself uses, which must not be revoked, rotated or limited.
OWN_KEY = os.environ["PARLEY_KEY_ID"]

# Codes and parameters of 400s that depend on more than the request: on time, on the state of the server, on the content of a file.
STATEFUL = {
    ("invalid_file", "file"),
    ("unsupported_file_format", "file"),
    ("unknown_model", "model"),
    ("unknown_voice", "voice"),
}
STATEFUL_WORDS = (
    "There is already an account named",
    "The balance would be larger",
    "has already had its trial",
    "has no running plan or trial",
    "is revoked or has expired",
    "An admin key has no limits",
    "This is an invitation",
    "An invitation ends at most",
    # Those of an account's key, or those of an admin key.
    "`scopes` takes",
    "The alerts have no destination",
    "This server sends no mail",
    "must be in the future",
    "must not be in the future",
    "has reached its limit of",
    # `best_of` must be at most `n`, and `n` for each prompt at most 128 in all.
    "`best_of`",
    "`prompt` and `n` ask for",
    "With tools or searches `prompt` must be one text",
    # The model of the run identifies no speakers.
    "The transcription model identifies no speakers",
    # Members that depend on each other.
    "`top` needs either",
    "`hour` in `group_by` needs",
    "in `group_by` needs a `start_time` and an `end_time`",
    # The configuration of the run came from no file.
    "which cannot be changed",
    "Only an engine that stays has a key",
    "The body is larger than",
    "`settings` takes only one of",
    # A schema does not say which URLs and addresses an engine can have.
    "`url` must be",
    "needs as many recordings as",
    "cannot be sent together",
    # No address of the run waits for a code.
    "does not wait for a confirmation",
    "This code is not valid",
)

schemathesis.openapi.format(
    "network",
    st.one_of(
        st.ip_addresses(v=4).map(str),
        st.ip_addresses(v=6).map(str),
        st.ip_addresses(v=4).map(lambda address: f"{address}/24"),
        st.ip_addresses(v=6).map(lambda address: f"{address}/48"),
    ),
)
schemathesis.openapi.format("uri", st.sampled_from(["https://example.com/hook", "https://example.com:8443/a?b=c"]))
schemathesis.openapi.format("binary", st.just(b"RIFF"))


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.path_parameters and case.path_parameters.get("key_id") == OWN_KEY:
        case.path_parameters["key_id"] = "key_00000000000000000000000000000000"


TYPED = ("/responses", "/messages", "/messages/count_tokens")


def is_of_another_type(error):
    """The document has one schema for the items, blocks, tools and formats of all types. Each type takes other members."""
    return (error.get("param") or "").startswith(("input[", "messages[", "system[", "tools[", "tool_choice", "text.format"))


def is_stateful(error):
    return (error.get("code"), error.get("param")) in STATEFUL or any(
        words in error.get("message", "") for words in STATEFUL_WORDS
    )


@schemathesis.check
def takes_valid_data(ctx, response, case):
    """A request that fits the document is not refused as invalid."""
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    if response.status_code == 401:
        raise AssertionError("the key of the run no longer works")
    if response.status_code not in (400, 413, 415, 422):
        return
    error = response.json()["error"]
    if not is_stateful(error) and not (case.path in TYPED and is_of_another_type(error)):
        raise AssertionError(f"refused: {error['code']} {error['param']}: {error['message']}")
