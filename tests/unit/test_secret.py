"""A secret is a reference until it is used; nothing of it is stored, printed or pickled."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from pydantic import ValidationError

from penstock.errors import SetupFailed
from penstock.options import Field, Options, Wrong
from penstock.secret import Reference, Secret, pieces
from penstock.spec.load import read_text
from penstock.spec.references import References
from penstock.spec.variables import take_variables


class Login(Options):
    """A model of its own: no part takes a secret yet."""

    user: str = Field("me", description="Who.")
    password: Secret = Field(description="The password.")
    headers: dict[str, Secret] = Field(default_factory=dict, description="Secrets by name.")


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> Login:
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "hunter2")
    return Login.model_validate({"password": "${env:PENSTOCK_TEST_SECRET}"})


def test_a_secret_is_read_where_it_is_used(login: Login, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert login.password.resolve() == "hunter2"
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "changed")
    assert login.password.resolve() == "changed"
    (tmp_path / "secret").write_text("from a file\n")
    assert Secret(f"${{file:{tmp_path}/secret}}").resolve() == "from a file"


def test_a_secret_is_stored_printed_and_pickled_as_its_reference(login: Login) -> None:
    reference = "${env:PENSTOCK_TEST_SECRET}"
    assert login.model_dump() == {"user": "me", "password": reference, "headers": {}}
    assert f'"password":"{reference}"' in login.model_dump_json()
    assert str(login.password) == f"{login.password}" == "********"
    stored = pickle.dumps(login)
    assert pickle.loads(stored) == copy.deepcopy(login) == login
    login.password.resolve()
    for text in (repr(login), str(login), repr(login.password), str(stored), str(vars(login)), login.model_dump_json()):
        assert "hunter2" not in text


def test_secrets_are_equal_by_their_reference() -> None:
    assert Secret("${env:A}") == Secret("${env:A}")
    assert len({Secret("${env:A}"), Secret("${env:A}"), Secret("${file:A}")}) == 2
    assert Login(password=Secret("${env:A}")).password == Secret("${env:A}")


@pytest.mark.parametrize(
    "literal", ["hunter2", "", "x${env:A}", "${env:A}x", "${env:A}${env:B}", "${env:}", "${vault:A}", "$$", "${env:A",
                "${env:A}\n", 42, True, ["hunter2"], {"a": "hunter2"}, "${var:a}"],
)  # fmt: skip
def test_a_literal_is_refused_and_not_shown(literal: object) -> None:
    with pytest.raises(ValidationError, match="it takes one whole reference") as caught:
        Login.model_validate({"password": literal})
    [error] = caught.value.errors(include_input=False)
    assert error["loc"] == ("password",)
    assert error["ctx"]["error"].quiet
    assert "hunter2" not in str(caught.value)
    assert "42" not in str(caught.value)


def test_a_missing_secret_is_told_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_TEST_UNSET", raising=False)
    with pytest.raises(SetupFailed, match="the environment variable `PENSTOCK_TEST_UNSET` is not set"):
        Secret("${env:PENSTOCK_TEST_UNSET}").resolve()
    with pytest.raises(SetupFailed, match="cannot be read"):
        Secret("${file:/no/such/file}").resolve()


def test_a_text_is_cut_at_its_references() -> None:
    assert [piece for piece in pieces("a${env:B}c$$d$") if piece] == ["a", Reference("env", "B"), "c", "$", "d$"]
    with pytest.raises(Wrong, match="not closed"):
        list(pieces("${env:A"))


def test_secrets_in_a_map_keep_their_references(login: Login) -> None:
    made = Login.model_validate({"password": "${env:A}", "headers": {"x": "${file:/b}"}})
    assert made.headers == {"x": Secret("${file:/b}")}


def loaded(text: str) -> dict[str, object]:
    """The values of a file of this model's, references filled in as in a pipeline file."""
    document = read_text(text.encode(), "login.yaml", Path("/data"))
    references = References(document.folder, take_variables(document.root, None, {}), root=Login)
    assert list(references.fill(document.root)) == []
    made: dict[str, object] = document.root.plain()
    return made


def test_in_a_file_a_secret_stays_a_reference_though_nothing_stands_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_TEST_UNSET", raising=False)
    monkeypatch.setenv("PENSTOCK_TEST_USER", "ada")
    made = loaded(
        "user: ${env:PENSTOCK_TEST_USER}\npassword: ${env:PENSTOCK_TEST_UNSET}\nheaders: {a: '${file:x/../y}'}\n"
    )
    login = Login.model_validate(made)
    assert (login.user, login.password) == ("ada", Secret("${env:PENSTOCK_TEST_UNSET}"))
    assert login.headers == {"a": Secret("${file:/data/y}")}


def test_a_variable_may_name_the_reference_of_a_secret() -> None:
    made = loaded("vars: {pw: '${env:PENSTOCK_TEST_UNSET}'}\npassword: ${var:pw}\n")
    assert Login.model_validate(made).password == Secret("${env:PENSTOCK_TEST_UNSET}")


@pytest.mark.parametrize("written", ["hunter2", "x${env:A}", "'${env:A'", "'$${env:A}'", "${var:pw}"])
def test_a_literal_in_a_file_is_left_for_the_secret_to_refuse(written: str) -> None:
    with pytest.raises(ValidationError, match="it takes one whole reference") as caught:
        Login.model_validate(loaded(f"vars: {{pw: hunter2}}\npassword: {written}\n"))
    assert "hunter2" not in str(caught.value)
