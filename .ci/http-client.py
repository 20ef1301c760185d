"""Calls every route of the API with the client that openapi-python-client has generated. usage: http-client.py URL"""

import importlib
import io
import json
import os
import pkgutil
import sys

import httpx
from httpx_sse import EventSource

import hustings_client.api
from hustings_client import AuthenticatedClient
from hustings_client.models import (
    CampaignRequest,
    ErrorBody,
    OfficeView,
    PauseRequest,
    RenewRequest,
    ResignRequest,
    TransferRequest,
    WatchEvent,
)
from hustings_client.types import File

OFFICE = "job"
# Every byte, so that nothing that takes it for text passes.
STATE = bytes(range(256)) * 3

client = AuthenticatedClient(
    base_url=sys.argv[1],
    token=os.environ["HUSTINGS_TOKEN"],
    raise_on_unexpected_status=True,
    timeout=httpx.Timeout(60),
)
operations = {
    name.rsplit(".", 1)[1]: importlib.import_module(name)
    for _, name, is_package in pkgutil.walk_packages(hustings_client.api.__path__, "hustings_client.api.")
    if not is_package
}
called = set()


def call(operation, *arguments, status=200, **parameters):
    """Calls an operation, and returns the object that the client makes of its answer."""
    called.add(operation)
    answer = operations[operation].sync_detailed(*arguments, client=client, **parameters)
    assert answer.status_code == status, f"{operation}: {answer.status_code} {answer.content}"
    assert answer.parsed is not None, f"{operation}: {answer.content}"
    assert isinstance(answer.parsed, ErrorBody) == (status >= 400), f"{operation}: {answer.parsed}"
    print(f"{operation}: {answer.status_code.value} {type(answer.parsed).__name__}")
    return answer.parsed


def check(is_right, what):
    assert is_right, what


def watch(last_event_id=None):
    """A watch, as a stream: the client makes the request, and a model of each event."""
    called.add("watch_office")
    headers = {} if last_event_id is None else {"last_event_id_header": last_event_id}
    request = operations["watch_office"]._get_kwargs(OFFICE, **headers)
    with client.get_httpx_client().stream(**request) as response:
        check(response.status_code == 200, response)
        for event in EventSource(response).iter_sse():
            yield WatchEvent.from_dict({"event": event.event, "id": event.id, "data": event.data})


# Sessions, and a stream that sees what becomes of them.
session = call("campaign", OFFICE, body=CampaignRequest(ttl_ms=60_000, wait_ms=15_000), status=201)
check(session.state == "held", session)
token = session.token
renewed = call("renew", OFFICE, body=RenewRequest(session=session.session, wait_ms=0))
check((renewed.state, renewed.token) == ("held", token), renewed)
events = watch()
first = next(events)
shown = OfficeView.from_dict(json.loads(first.data))
check((first.event, shown.office, shown.token) == ("office", OFFICE, token), first)

# States: bodies that are bytes, and a header that is optional.
stored = call("put_state", OFFICE, hustings_token=str(token), body=File(payload=io.BytesIO(STATE)))
check(stored.bytes_ == len(STATE), stored)
check(call("get_state", OFFICE).payload.read() == STATE, "the state has other bytes")
listed = call("list_states", limit=10)
check([(state.office, state.bytes_) for state in listed.states] == [(OFFICE, len(STATE))], listed)
check(call("delete_state", OFFICE, hustings_token=str(token)).office == OFFICE, "deleted by its holder")
call("put_state", OFFICE, hustings_token=str(token), body=File(payload=io.BytesIO(b"")))
check(call("delete_state", OFFICE).office == OFFICE, "deleted by an operator")
call("get_state", OFFICE, status=404)
call("put_state", OFFICE, hustings_token=str(token + 1_000_000), body=File(payload=io.BytesIO(b"x")), status=409)

# Reads.
check(call("show_office", OFFICE).token == token, "the office")
check([office.office for office in call("list_offices", limit=1).offices] == [OFFICE], "a page of offices")
check(OFFICE in [office.office for office in call("list_offices", after="a").offices], "all offices")
call("show_office", "nobody", status=404)
check(call("is_leader", OFFICE).is_leader, "this node holds the office")
check(call("is_leader_options", OFFICE).is_leader, "this node holds the office")
check(len(call("show_cluster").members) == 3, "the members")
check(call("show_history", office=OFFICE, limit=5).changes[-1].token == token, "the history")
check(len(call("show_trace", limit=50).records) == 50, "the trace")
check(call("livez").ok and call("readyz").ok, "the probes")
check("hustings_http_sessions 1" in call("metrics"), "the metrics")
check("/v1/offices" in call("describe")["paths"], "the description")

# The end of the session arrives in the stream, and is missed by a client that comes back.
resigned = call("resign", OFFICE, body=ResignRequest(session=session.session))
check(resigned.state == "resigned", resigned)
check(any(event.id == f"{token}.1" for event in events), "the vacancy")
missed = next(watch(last_event_id=f"{token}.0"))
check((missed.event, missed.id) == ("missed", f"{token}.1"), missed)

# Operations.
holder = call("show_office", "leader").holder
other = next(name for name in "abc" if name != holder)
check(call("transfer", "leader", body=TransferRequest(to=other)).holder == other, "the office is handed over")
check(call("pause", body=PauseRequest()).paused, "elections are paused")
check(not call("resume").paused, "elections go on")

missing = sorted(set(operations) - called)
check(not missing, f"these were not called: {missing}")
print(f"{len(called)} operations")
