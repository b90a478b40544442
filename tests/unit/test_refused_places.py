"""Why a value is refused: the place is one that the sender knows."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from schemas import http
from schemas.messages import NewMessages
from schemas.validation_text import faults
from streams.record_kinds import MODELS

BODIES: list[type[BaseModel]] = [*MODELS.values(), NewMessages, http.StateCorrection]
ODD: tuple[Any, ...] = (5, 1.5, True, {}, {"a": [5]}, [5], ["a", 5, {}], [[]], "x", "x" * 300, "\0")


@pytest.mark.parametrize("model", BODIES)
def test_a_fault_names_a_field_and_never_a_type_of_python(model: type[BaseModel]) -> None:
    refused = 0
    for field in model.model_fields:
        for odd in ODD:
            with pytest.raises(ValidationError) as caught:
                model.model_validate({field: odd, "no_such_type": None, "type": odd})
            told = [one for one in faults(caught.value) if one.place[0] == field]
            refused += bool(told)
            assert len({one.place for one in told}) == len(told), "one fault for each place"
            for place, reason in told:
                assert all(isinstance(part, int) or part.isidentifier() for part in place), place
                assert not {"str", "float", "int", "bool"} & set(place), place
                assert reason
    assert refused > len(model.model_fields)


def test_what_has_one_form_in_part_is_wrong_inside() -> None:
    def of(intent: Any) -> list[tuple[Any, ...]]:
        turn = {"event_id": "e", "session_id": "s", "occurred_at": "2026-03-01T00:00:00Z"}
        with pytest.raises(ValidationError) as caught:
            MODELS["turn"].model_validate({**turn, "intent": intent})
        return [tuple(one) for one in faults(caught.value)]

    assert of(["a", 5]) == [(("intent", 1), "Input should be a valid string")]
    assert of(5) == [(("intent",), "Input should be a valid string or a valid list")]
