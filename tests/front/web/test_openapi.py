"""The description of the API says what the server does, no more and no less."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings, strategies
from schemathesis.config import (
    ChecksConfig,
    PositiveDataAcceptanceConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)
from schemathesis.config._checks import NegativeDataRejectionConfig
from schemathesis.python.asgi import ASGIClient
from starlette.testclient import TestClient

from dowse._config.request import OPTIONS
from dowse._interfaces.http.routes import ROUTES
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._project.pool import EnginePool
from dowse._search.request import Filters
from dowse._text.dates import first_moment
from http_reference import description

HERE = "http://127.0.0.1:7333"


def test_every_route_is_described() -> None:
    told = description()
    assert told["openapi"].startswith("3.1")
    operations = [one for path in told["paths"].values() for one in path.values()]
    assert len(operations) == len(ROUTES) + 1  # /metrics is no JSON
    assert len({one["operationId"] for one in operations}) == len(operations)


def test_every_parameter_and_field_explains_itself() -> None:
    told = description()
    for path in told["paths"].values():
        for operation in path.values():
            assert operation["summary"].endswith(".")
            assert all(one["description"] for one in operation.get("parameters", ()))
    for name, schema in told["components"]["schemas"].items():
        if name.endswith("Record"):
            missing = [n for n, one in schema["properties"].items() if not one.get("description")]
            assert not missing, (name, missing)


def test_it_is_served(client: TestClient) -> None:
    told = client.get("/api/v1/openapi.json").json()
    assert told["paths"].keys() == description()["paths"].keys()


def test_a_page_for_people_lists_every_route_and_loads_nothing_from_elsewhere(
    client: TestClient,
) -> None:
    for address in ("/api", "/api/"):
        page = client.get(address)
        assert page.status_code == 200
        assert page.headers["Content-Type"].startswith("text/html")
    for route in ROUTES:
        assert f"{route.method} {route.address}" in page.text
        assert all(f"<code>{row.name}</code>" in page.text for row in route.takes)
    assert set(re.findall(r'(?:src|href)="([^#"]+)"', page.text)) == {
        "/api.css",
        "/api/v1/openapi.json",
    }
    assert "://" not in page.text
    assert not re.search(r"<script|<style|style=", page.text)
    assert client.get("/api.css").status_code == 200


# A setting or a date can be well formed and still be none that there is; and what may be said in
# the parameters one by one can be too much for an address.
_ACCEPTED = PositiveDataAcceptanceConfig(expected_statuses=["2xx", 404, 414, 422])
_REJECTED = NegativeDataRejectionConfig(expected_statuses=[400, 404, 405, 413, 414, 415, 422])
_CONFIG = ProjectConfig(
    checks=ChecksConfig(positive_data_acceptance=_ACCEPTED, negative_data_rejection=_REJECTED),
)


def _grouped(told: Any) -> Any:
    """The description, with every pattern in a group, which changes nothing it means.

    Otherwise schemathesis writes `maxLength` into the pattern, as a repetition of up to 20,000
    characters, and builds an automaton of that size for each of a hundred schemas.
    """
    if isinstance(told, list | tuple):
        return [_grouped(one) for one in told]
    if not isinstance(told, dict):
        return told
    copy = {name: _grouped(one) for name, one in told.items()}
    if isinstance(copy.get("pattern"), str):
        copy["pattern"] = re.sub(r"^\^(.*)\$$", r"^(\1)$", copy["pattern"])
    return copy


_DESCRIBED = schemathesis.openapi.from_dict(
    _grouped(description()), config=SchemathesisConfig(projects=ProjectsConfig(default=_CONFIG))
)


@pytest.fixture
def asking(service: EnginePool) -> ASGIClient:
    """What sends requests to the server, in this process."""
    app: Any = application(service, Access(), watch=False)
    return ASGIClient(app, base_url=HERE)


@_DESCRIBED.parametrize()
@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # requests change nothing
)
def test_the_server_does_what_it_says(case: schemathesis.Case[Any], asking: ASGIClient) -> None:
    case.call_and_validate(base_url=HERE, session=asking)


_DATES = next(row for row in OPTIONS if row.name == "after").schema()["pattern"]


@given(strategies.from_regex(_DATES, fullmatch=True))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_every_date_that_the_description_allows_is_accepted(text: str) -> None:
    assert Filters(after=text).conditions()


@pytest.mark.parametrize("year", ["0000", "0001", "1900", "2000", "2023", "2024", "9999"])
def test_the_description_allows_the_days_of_the_calendar(year: str) -> None:
    for month, day in itertools.product(range(14), range(33)):
        text = f"{year}-{month:02}-{day:02}"
        assert bool(re.search(_DATES, text)) == (first_moment(text) is not None), text
    assert bool(re.search(_DATES, year)) == (first_moment(year) is not None)
