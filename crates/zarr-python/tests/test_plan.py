"""The plan that cuts a write into parts that share no stored object."""

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from zarrkit import _plan


def test_blocks_that_share_no_object_are_the_parts():
    assert _plan.plan([[200, 400, 500], [300]], [[100, 200, 300, 400, 500], [300]]) == [[200, 400, 500], [300]]


def test_blocks_that_share_objects_are_joined_and_cut_where_those_end():
    blocks = [_plan.ends_of([60] * 10), [500], _plan.ends_of([4] * 10)]
    stored = [[200, 400, 600], [100, 200, 300, 400, 500], [40]]
    assert _plan.plan(blocks, stored) == stored


def test_a_block_that_shares_no_object_stays_among_others():
    assert _plan.plan([[400, 500, 600]], [[200, 400, 600]]) == [[400, 600]]


def test_small_objects_are_gathered_up_to_the_size_of_a_block():
    (ends,) = _plan.plan([[95, 195, 200]], [list(range(10, 201, 10))])
    assert ends == [100, 200]


def test_boxes_are_numbered_in_c_order():
    assert _plan.boxes([[2, 3], [4]]) == [(slice(0, 2), slice(0, 4)), (slice(2, 3), slice(0, 4))]
    assert _plan.boxes([]) == [()]


def test_the_first_border_inside_an_object_is_named():
    assert _plan.misaligned([[4, 8], [3, 6]], [[4, 8], [2, 4, 6]]) == (1, 3)
    assert _plan.misaligned([[4, 8], [4, 6]], [[4, 8], [2, 4, 6]]) is None


@st.composite
def axes(draw):
    found = []
    for _ in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 40))
        borders = st.sets(st.integers(1, length)).map(lambda ends, length=length: sorted(ends | {length}))
        found.append((draw(borders), draw(borders)))
    return [list(part) for part in zip(*found, strict=True)]


@given(axes())
def test_parts_share_no_object_and_cover_all_and_are_no_larger_than_needed(made):
    blocks, stored = made
    parts = _plan.plan(blocks, stored)
    assert _plan.misaligned(parts, stored) is None
    assert [ends[-1] for ends in parts] == [ends[-1] for ends in blocks]
    longest = [max(_plan.lens_of(ends)) for ends in parts]
    limits = [prod(max(_plan.lens_of(ends)) for ends in given) for given in (blocks, stored)]
    assert prod(longest) <= max(limits)
