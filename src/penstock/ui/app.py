"""The web application: `/api/v1/...` as JSON, and one page that shows it. Every route only reads."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, TypeVar

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from penstock.errors import PenstockError
from penstock.ui import batches, lists, present
from penstock.ui.assets import Asset, assets
from penstock.ui.charts import SPANS, course_of
from penstock.ui.models import (
    Alerts,
    Answer,
    Batch,
    Batches,
    Course,
    Detail,
    LagTable,
    LedgerPage,
    Letters,
    Pipelines,
    Problem,
    Schemas,
)
from penstock.ui.shop import Shop, Shown
from penstock.version import __version__

T = TypeVar("T", bound=Answer)
Id = Annotated[str, Path(pattern=r"^[a-z0-9-]{1,80}$")]
Number = Annotated[int | None, Query(ge=0, le=2**62)]
BASE = "/api/v1/pipelines"
PAGE = 50
"""Batches on a page."""
Generation = Annotated[int | None, Query(ge=0, le=2**31)]


def application(shop: Shop) -> FastAPI:
    """The dashboard over these pipelines."""
    app = FastAPI(
        title="penstock", version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json"
    )
    app.add_middleware(GZipMiddleware, minimum_size=4096, compresslevel=4)
    _problems(app)
    _pages(app)
    _standings(app, shop)
    _ledger(app, shop)
    _lists(app, shop)
    return app


def warm(shop: Shop) -> None:
    """Read what the first visitor will ask for, so that nobody waits. What cannot be read is told to who asks."""
    for shown in shop.all():
        with suppress(Exception), shown.lock:
            present.detail_of(shown)
            batches.batches_of(shown.books, None, None, PAGE)


class Missing(Exception):
    """There is no such thing; the text says of what."""


def _standings(app: FastAPI, shop: Shop) -> None:
    """How pipelines stand."""

    @app.get(BASE, response_model=Pipelines)
    def pipelines(request: Request) -> Response:
        """Every pipeline, as the overview shows it."""
        shown = shop.all()
        changes = [(each, present.change_of(each)) for each in shown]
        return _answer(request, "".join(each.id + change for each, change in changes), lambda: _overview(shop, changes))

    @app.get(BASE + "/{number}", response_model=Detail)
    def pipeline(number: Id, request: Request) -> Response:
        """One pipeline: how it stands, its last batch, its flow."""
        return _of(request, shop, number, present.detail_of)


def _ledger(app: FastAPI, shop: Shop) -> None:
    """What the ledger holds of one."""

    @app.get(BASE + "/{number}/batches", response_model=Batches)
    def some_batches(
        number: Id,
        request: Request,
        before: Number = None,
        generation: Generation = None,
        limit: Annotated[int, Query(ge=1, le=200)] = PAGE,
    ) -> Response:
        """Committed batches, the newest first."""
        return _of(request, shop, number, lambda it: batches.batches_of(it.books, generation, before, limit))

    @app.get(BASE + "/{number}/batches/{batch_id}", response_model=Batch)
    def one_batch(
        number: Id,
        request: Request,
        batch_id: Annotated[int, Path(ge=0, le=2**62)],
        generation: Generation = None,
    ) -> Response:
        """One batch: phases, ranges, what each sink got."""
        return _of(request, shop, number, lambda it: batches.batch_of(it.books, generation, batch_id))

    @app.get(BASE + "/{number}/ledger", response_model=LedgerPage)
    def ledger(
        number: Id,
        request: Request,
        before: Number = None,
        generation: Generation = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 30,
    ) -> Response:
        """The ledger: who it is, intents, manifests, outcomes, markers."""
        return _of(request, shop, number, lambda it: batches.ledger_of(it.books, generation, before, limit))


def _lists(app: FastAPI, shop: Shop) -> None:
    """What else is known of one."""

    @app.get(BASE + "/{number}/lag", response_model=LagTable)
    def lag(number: Id, request: Request) -> Response:
        """Every partition."""
        return _of(request, shop, number, lists.lag_of)

    @app.get(BASE + "/{number}/history", response_model=Course)
    def history(
        number: Id, request: Request, span: Annotated[str, Query(pattern="^(" + "|".join(SPANS) + ")$")] = "1h"
    ) -> Response:
        """Lag and throughput over time; of a pipeline that does not run, until it was last heard of."""
        return _of(request, shop, number, lambda it: course_of(it.courses, span, _until(it)))

    @app.get(BASE + "/{number}/dead-letters", response_model=Letters)
    def dead_letters(
        number: Id,
        request: Request,
        code: Annotated[str | None, Query(max_length=200)] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 25,
    ) -> Response:
        """Dead letters by code, and some of the newest."""
        return _of(request, shop, number, lambda it: lists.letters_of(it, limit, code))

    @app.get(BASE + "/{number}/schemas", response_model=Schemas)
    def schemas(number: Id, request: Request) -> Response:
        """Columns, and changes of producers' schemas."""
        return _of(request, shop, number, lists.schemas_of)

    @app.get(BASE + "/{number}/alerts", response_model=Alerts)
    def alerts(number: Id, request: Request) -> Response:
        """Alerts that are raised, and what happened."""
        return _of(request, shop, number, lists.alerts_of)


def _overview(shop: Shop, changes: list[tuple[Shown, str]]) -> Pipelines:
    cards = []
    for each, change in changes:
        with each.lock:
            cards.append(present.card_of(each, change))
    empty = [f"{folder} holds no state of a pipeline yet." for folder in shop.empty()]
    return Pipelines(pipelines=cards, notes=empty)


def _until(shown: Shown) -> float:
    if shown.look().running:
        return time.time()
    return shown.courses.newest() or time.time()


def _of(request: Request, shop: Shop, number: str, make: Callable[[Shown], T | None]) -> Response:
    """The answer about one pipeline: not made at all while nothing of it has changed."""
    shown = shop.find(number)
    if shown is None:
        raise Missing(f"There is no pipeline `{number}` here.")
    with shown.lock:
        change = present.change_of(shown)
        return _answer(request, change, lambda: make(shown))


def _answer(request: Request, change: str, make: Callable[[], T | None]) -> Response:
    etag = f'W/"{hashlib.sha256(f"{request.url.path}?{request.url.query} {change}".encode()).hexdigest()[:20]}"'
    headers = {"etag": etag, "cache-control": "no-cache, private"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    made = make()
    if made is None:
        raise Missing("There is no such batch or generation in the ledger.")
    return Response(made.model_dump_json(), media_type="application/json", headers=headers)


def _pages(app: FastAPI) -> None:
    known = assets()

    @app.get("/static/{path:path}", include_in_schema=False)
    def static(path: str, request: Request) -> Response:
        if path not in known:
            raise Missing("There is no such file.")
        return _asset(request, known[path])

    @app.get("/", include_in_schema=False)
    @app.get("/p/{rest:path}", include_in_schema=False)
    def page(request: Request, rest: str = "") -> Response:
        return _asset(request, known["index.html"])


def _asset(request: Request, asset: Asset) -> Response:
    headers = {"etag": asset.etag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    return Response(asset.body, media_type=asset.media_type, headers=headers)


def _problems(app: FastAPI) -> None:
    """Every error as problem JSON, in plain words; never a stack trace."""

    @app.exception_handler(Missing)
    def missing(_request: Request, error: Missing) -> Response:
        return problem(404, "Not found", str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(_request: Request, error: RequestValidationError) -> Response:
        names = sorted({str(each["loc"][-1]) for each in error.errors()})
        return problem(422, "Wrong request", f"This cannot be asked for: {', '.join(names)} is out of bounds.")

    @app.exception_handler(HTTPException)
    def other(_request: Request, error: HTTPException) -> Response:
        return problem(error.status_code, "Not found" if error.status_code == 404 else "Refused", str(error.detail))

    @app.exception_handler(PenstockError)
    def ours(_request: Request, error: PenstockError) -> Response:
        return problem(500, "It cannot be read", str(error))

    @app.exception_handler(Exception)
    def unforeseen(_request: Request, error: Exception) -> Response:
        told = f"{type(error).__name__}. The terminal in which `penstock ui` runs has more."
        return problem(500, "It cannot be read", told)


def problem(status: int, title: str, detail: str) -> Response:
    body = Problem(title=title, status=status, detail=detail).model_dump()
    return JSONResponse(body, status, media_type="application/problem+json", headers={"cache-control": "no-store"})
