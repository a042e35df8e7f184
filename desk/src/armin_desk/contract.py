"""What a caller may ask, written once: pydantic models that check a request and describe it to programs.

The models here hold for any desk. :func:`contract_of` narrows them to one bundle: its columns with their limits, its
languages, its number of plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    create_model,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from armin.costs.personal import HOW_HARD
from armin.errors import DataError
from armin.schema import Feature, Schema, Value
from armin.schema.values import is_blank
from armin_desk.describe import feature_dict
from armin_desk.problems import ProblemError, inline_schema

__all__ = [
    "AlternativesAsked", "Asked", "LetterAsked", "PlanAsked", "PointAsked", "contract_of", "refusal", "request_body",
]  # fmt: skip

LEAST_CONFIDENCE = 1e-6
"""A share of plausible people below this is nobody."""
LONGEST_NAME = 60
LONGEST_TEXT = 1000
MOST_COLUMNS = 10_000


def _whole(value: object) -> object:
    """JSON knows one kind of number: 3.0 is as whole as 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _from_to(low: int, high: int) -> Any:
    """The type of a whole number; its title is the rule that a refusal quotes, as everywhere here."""
    rule = f"a whole number from {low} to {high}"
    return Annotated[int, Field(ge=low, le=high, title=rule), BeforeValidator(_whole)]


class Asked(BaseModel):
    """One person's form.

    >>> Asked(row={"Age": 32, "Income": None}).locked
    ()
    """

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)

    row: dict[str, Value | None]
    locked: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    difficulty: dict[str, Literal["easy", "usual", "hard", "very hard"]] = Field(
        default_factory=dict,
        title='an object of column to easy, usual, hard or very hard, such as {"Income": "hard"}',
        description="How hard this person finds changing a column; the cost is weighed accordingly.",
    )
    why: dict[str, Literal["unknown", "private"]] = Field(
        default_factory=dict,
        title='an object of column to unknown or private, such as {"Income": "private"}',
        description="Why a column is blank: the person does not know it, or prefers not to say. Told columns may not "
        "be named.",
    )
    decision: Literal["auto", "complete", "blank", "none"] | None = Field(
        default=None,
        title="one of auto, complete, blank, none, or null",
        description="What has been decided about the person; as the bundle says if it is left out.",
    )
    reapply: Literal["disclosed", "blank", "either"] | None = Field(
        default=None,
        title="one of told, blank, either, or null",
        description="Who judges after the plan; as the bundle says if it is left out.",
    )


class PlanAsked(Asked):
    """One person's form, and how sure they want to be.

    >>> PlanAsked(row={}, confidence=1).confidence
    1.0
    """

    confidence: Annotated[float, Field(ge=LEAST_CONFIDENCE, le=1)] | None = Field(
        None,
        title=f"a number from {LEAST_CONFIDENCE:f} to 1, or null",
        description="The share of plausible people that the plan must work for.",
    )


class PointAsked(PlanAsked):
    """One person's form, and which plan of their path they look at.

    >>> PointAsked(row={}, point=0.95).point
    0.95
    """

    point: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        title="a number from 0 to 1, or null",
        description="The 'share' of a point of this row's path: its plan is then the first one. Not with 'confidence'.",
    )


class AlternativesAsked(PointAsked):
    """One person's form, and how many plans to choose from.

    >>> AlternativesAsked(row={}).count
    3
    """

    count: int = 3


AddressLine = Annotated[str, Field(max_length=80, pattern=r"^[^\x00-\x1f\x7f]*$")]


class LetterAsked(PointAsked):
    """One person's form, and how the letter should look.

    >>> LetterAsked(row={}).language
    'en'
    """

    decided: bool = Field(
        False,
        title="true or false",
        description="Whether the application was decided on, as whoever sends this knows. Only then a notice is "
        "written, on the organisation's letterhead and by its pack; else a sheet of information without a decision.",
    )
    language: str = "en"
    applicant: str = Field(
        "", max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", title="one line of at most 200 characters"
    )
    choice: int = 0
    format: Literal["html", "pdf"] = Field("html", title="one of html, pdf")
    recipient: tuple[AddressLine, ...] = Field(
        (), max_length=6, strict=False, title="a list of at most 6 lines of at most 80 characters",
        description="The person's name and address, for the window of an envelope.",
    )  # fmt: skip
    fields: dict[str, str] = Field(default_factory=dict)
    reference: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,40}$")] | None = Field(
        None, title="at most 40 letters, digits and hyphens, or null"
    )


def contract_of(
    schema: Schema,
    *,
    most_plans: int = 5,
    languages: Sequence[str] = (),
    more: Mapping[str, type[Asked]] | None = None,
    told: Sequence[str] = (),
) -> dict[str, type[Asked]]:
    """The requests that one desk takes, by the name of their route.

    Parameters
    ----------
    schema : the columns
    most_plans : the most alternatives
    languages : the languages of letters and of what a page says; English if there is none
    more : further requests by the name of their route; a field 'changes' is checked as a row is
    told : the fields that a letter may be told of a person

    Examples
    --------
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90), Feature("car", "binary", categories=(0, 1))))
    >>> contract_of(schema)["recourse"].model_validate({"row": {"age": 40}}).row
    {'age': 40, 'car': None}
    """
    columns = tuple(schema.names)
    known = tuple(languages) or ("en",)
    made_row: Any = _row_of(schema)
    row = Annotated[
        made_row,
        BeforeValidator(_not_too_wide),
        AfterValidator(partial(BaseModel.model_dump, by_alias=True)),
        Field(
            title='an object with one value per column, such as {"Age": 40}',
            description="One value per column. What is null, an empty text or left out is a blank: not given.",
        ),
    ]
    idea = Annotated[
        made_row,
        BeforeValidator(_not_too_wide),
        AfterValidator(partial(BaseModel.model_dump, by_alias=True, exclude_none=True)),
        Field(
            title='an object with a value for each column that changes, such as {"Loans": 1}',
            description="The values of the idea. What is null, an empty text or left out does not change.",
        ),
    ]
    locked = Annotated[
        tuple[Literal[columns], ...],  # type: ignore[valid-type]  # known when the bundle is
        Field(
            max_length=1000, strict=False, title="a list of at most 1,000 column names",
            description="Columns that this person cannot change.",
        ),
        AfterValidator(_each_once),
    ]  # fmt: skip
    words = tuple(HOW_HARD)
    hard = Annotated[
        dict[Literal[columns], Literal[words]],  # type: ignore[valid-type]
        Field(
            title="an object of column to " + ", ".join(HOW_HARD), max_length=1000,
            description="How hard this person finds changing a column; the cost is weighed accordingly.",
        ),
    ]  # fmt: skip
    blank = Annotated[
        dict[Literal[columns], Literal["unknown", "private"]],  # type: ignore[valid-type]
        Field(
            title=Asked.model_fields["why"].title, max_length=1000, description=Asked.model_fields["why"].description,
        ),
    ]  # fmt: skip
    language = Annotated[Literal[known], Field(title=f"one of {', '.join(known)}")]  # type: ignore[valid-type]
    spoken = Annotated[
        tuple[Literal[known], ...],  # type: ignore[valid-type]
        Field(
            max_length=20, strict=False, title=f"a list of at most 20 of {', '.join(known)}",
            description="Languages in which the answer is also said, ready to be shown, under 'said'.",
        ),
        AfterValidator(_each_once),
    ]  # fmt: skip
    form: dict[str, Any] = {
        "row": (row, ...), "locked": (locked, ()), "languages": (spoken, ()),
        "difficulty": (hard, Field(default_factory=dict)), "why": (blank, Field(default_factory=dict)),
    }  # fmt: skip
    narrower: dict[type[Asked], dict[str, Any]] = {
        Asked: {},
        PlanAsked: {},
        AlternativesAsked: {"count": (_from_to(1, most_plans), min(3, most_plans))},
        LetterAsked: {
            "language": (language, "en"),
            "choice": (_from_to(0, most_plans - 1), 0),
            "fields": (_fields_of(tuple(told)), Field(default_factory=dict)),
        },
    }
    for base in (more or {}).values():
        narrower[base] = {"changes": (idea, ...)} if "changes" in base.model_fields else {}
    made = {base: create_model(base.__name__, __base__=base, **form, **own) for base, own in narrower.items()}
    return {
        "recourse": made[PlanAsked], "path": made[Asked], "alternatives": made[AlternativesAsked], "ask": made[Asked],
        "letter": made[LetterAsked],
        **{name: made[base] for name, base in (more or {}).items()},
    }  # fmt: skip


def _fields_of(names: tuple[str, ...]) -> Any:
    """What a letter may be told of a person, by name."""
    key: Any = Literal[names] if names else str
    title = f"an object of texts of at most 600 characters for {', '.join(names) or 'nothing'}"
    return Annotated[
        dict[key, Annotated[str, Field(max_length=600)]],
        Field(
            title=title, max_length=len(names), description="What the letter's pack needs to be told of this person.",
        ),
    ]  # fmt: skip


def _row_of(schema: Schema) -> type[BaseModel]:
    """A model with one field per column; columns have any name, so they are aliases."""
    fields: dict[str, Any] = {
        f"column_{i}": (_cell(f), Field(None, alias=f.name, title=f.title, description=feature_dict(f)["help"]))
        for i, f in enumerate(schema)
    }
    return create_model("Row", __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _not_too_wide(row: object) -> object:
    if isinstance(row, Mapping) and len(row) > MOST_COLUMNS:
        raise PydanticCustomError("too_wide", "too many columns")
    return row


def _cell(feature: Feature) -> Any:
    """The type of one column: checked by the column itself, described by its limits."""
    if feature.is_number:
        kind = "integer" if feature.kind == "integer" else "number"
        value: dict[str, Any] = {
            "type": kind,
            "minimum": _tidy(feature.least_code),
            "maximum": _tidy(feature.most_code),
        }
    elif feature.is_carried:
        value = {"type": ["string", "number", "boolean"], "maxLength": LONGEST_TEXT}
    else:
        value = {"enum": list(feature.categories)}
    blank = {"type": "string", "pattern": "^\\s*$", "maxLength": LONGEST_TEXT}
    described = WithJsonSchema({"anyOf": [value, {"type": "null"}, blank]})
    return Annotated[Any, PlainValidator(partial(_check_cell, feature)), described]


def _tidy(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def _check_cell(feature: Feature, value: Any) -> Value | None:
    name = feature.name
    if value is not None and not isinstance(value, str | bool | int | float):
        raise _misfit(f"Column {name!r} must be one number, text, true, false or null.")
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise _misfit(f"Column {name!r} must be a text of at most {LONGEST_TEXT} characters.")
    if is_blank(value):
        return None
    if feature.is_number and isinstance(value, str | bool):  # JSON has numbers, so a text is a mistake
        raise _misfit(f"Column {name!r} must be a number, or blank. Got {value!r} instead.")
    try:
        feature.code(value)
    except DataError as error:
        raise _misfit(error.rule) from None
    found: Value | None = value
    return found


def _misfit(text: str) -> PydanticCustomError:
    return PydanticCustomError("misfit", "{text}", {"text": text})


def refusal(error: ValidationError, model: type[Asked], columns: Sequence[str]) -> ProblemError:
    """What does not fit, one sentence for each field.

    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
    >>> model = contract_of(schema)["recourse"]
    >>> try:
    ...     _ = model.model_validate({"row": {"age": 140}})
    ... except ValidationError as error:
    ...     refusal(error, model, schema.names).detail
    "Column 'age' must be in [18, 90], or blank. Got 140 instead."
    """
    found: dict[tuple[str, ...], tuple[str, str, str]] = {}
    for item in error.errors(include_url=False):
        place = tuple(_clip(str(part)) for part in item["loc"])
        place = (
            place[:2] if place[0] in ("row", "changes") else place[:1]
        )  # a list or a union reports each of its members
        found.setdefault(place, (place[-1], _pointer(*place), _sentence(place, item, model, columns)))
    return ProblemError.of_fields(list(found.values()))


def _sentence(place: Sequence[str], item: ErrorDetails, model: type[Asked], columns: Sequence[str]) -> str:
    name, kind, given = place[-1], item["type"], item["input"]
    if len(place) > 1:
        listed = ", ".join(columns)
        return f"Unknown column {name!r}. The columns are: {listed}." if kind == "extra_forbidden" else item["msg"]
    if kind == "missing":
        return f"{name!r} is missing. Send the form as {name!r}."
    if kind == "extra_forbidden":
        return f"{name!r} is not known here. Leave it out."
    if kind == "literal_error" and name == "locked" and isinstance(given, str):
        return f"{_clip(given)!r} is not a column. The columns are: {', '.join(columns)}."
    got = f" Got {_clip(repr(given))} instead." if isinstance(given, str | bool | int | float) else ""
    return f"{name!r} must be {model.model_fields[name].title}.{got}"


def _clip(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _pointer(*parts: str) -> str:
    return "#/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)


def request_body(model: type[Asked]) -> dict[str, Any]:
    """The OpenAPI description of a request.

    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
    >>> body = request_body(contract_of(schema)["path"])["requestBody"]["content"]["application/json"]["schema"]
    >>> body["properties"]["row"]["properties"]["age"]["anyOf"][0]
    {'maximum': 90, 'minimum': 18, 'type': 'integer'}
    """
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": inline_schema(model)}}}}
