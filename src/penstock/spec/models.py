"""What to say of a key that is not known, or missing: asked of the options model that stands at its path."""

from __future__ import annotations

from difflib import get_close_matches

from pydantic import BaseModel

from penstock.choice import did_you_mean
from penstock.meanings import meanings
from penstock.pipeline import Pipeline
from penstock.spec.problems import Path
from penstock.spec.shape import Shape, keys_of, shape_at
from penstock.spec.variables import FileKeys


def no_such_option(path: Path) -> tuple[str, str]:
    """Message and remedy for a key that nothing knows: the nearest one, or the list of those that are known here."""
    near = nearest(path)
    if near:
        return f"no such option. Did you mean `{near}`?", ""
    return "no such option.", did_you_mean("", _known(path[:-1])).strip()


def nearest(path: Path) -> str:
    """The known key that this unknown one was probably meant to be, or nothing."""
    if path == ("name",):
        return "pipeline"
    near = get_close_matches(str(path[-1]), _known(path[:-1]), n=1, cutoff=0.7)
    return near[0] if near else ""


def description(path: Path) -> str:
    """What the setting at this path means."""
    model = model_at(path[:-1])
    return meanings(model).get(str(path[-1]), "") if model else ""


def bare_word(path: Path) -> str:
    """The word alone, if the path names a part that needs no settings: `raw` of `decode: {raw: }`."""
    above = shape_at(path[:-1]) if len(path) > 1 else None
    model = model_at(path) if above and above.sort == "choice" else None
    return str(path[-1]) if model and not any(each.is_required() for each in model.model_fields.values()) else ""


def model_at(path: Path) -> type[BaseModel] | None:
    """The options model whose settings stand at this path, or None."""
    shape = shape_at(path)
    models = [each.model for each in _settings(shape)]
    return models[0] if models else None


def _settings(shape: Shape | None) -> list[Shape]:
    return [each for each in shape.each() if each.sort == "settings"] if shape else []


def _known(path: Path) -> list[str]:
    model = model_at(path)
    keys = list(keys_of(model)) if model else []
    return [*keys, *FileKeys.model_fields] if model is Pipeline else keys
