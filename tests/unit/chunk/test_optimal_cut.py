from __future__ import annotations

from dowse._index.chunk import CutPoint, around_goal, at_least, cheapest_pieces, thinned


def sizes(pieces: list[tuple[int, int]]) -> list[int]:
    return [end - start for start, end in pieces]


def test_pieces_are_balanced_rather_than_filled() -> None:
    places = [CutPoint(offset, 10) for offset in range(0, 2100, 100)]

    assert sizes(cheapest_pieces(places, 2100, around_goal(1000, 200, 1500))) == [1000, 1100]


def test_a_cheap_place_is_worth_a_worse_size() -> None:
    places = [CutPoint(0, 0), CutPoint(700, 0), CutPoint(1000, 50)]

    assert sizes(cheapest_pieces(places, 2000, around_goal(1000, 200, 1500))) == [700, 1300]


def test_an_expensive_cut_point_is_not_chosen() -> None:
    places = [CutPoint(0, 0), CutPoint(300, 10), CutPoint(1000, 20)]

    assert sizes(cheapest_pieces(places, 2000, around_goal(1000, 200, 1500))) == [1000, 1000]


def test_no_piece_is_longer_than_the_maximum() -> None:
    places = [CutPoint(0, 0), CutPoint(1400, 1000), CutPoint(1600, 1000)]

    assert sizes(cheapest_pieces(places, 3000, around_goal(1000, 200, 1500))) == [1400, 200, 1400]


def test_one_piece_where_one_is_enough() -> None:
    places = [CutPoint(0, 0), CutPoint(500, 10)]

    assert sizes(cheapest_pieces(places, 1000, around_goal(1000, 200, 1500))) == [1000]


def test_a_piece_below_the_minimum_joins_its_neighbour() -> None:
    places = [CutPoint(0, 0), CutPoint(1300, 0)]

    assert sizes(cheapest_pieces(places, 1450, around_goal(1000, 200, 1500))) == [1450]


def test_enough_does_not_reach_over_a_higher_level() -> None:
    places = [CutPoint(0, 10, 2), CutPoint(1600, 10, 1)]

    assert sizes(cheapest_pieces(places, 1900, at_least(1500, 2000))) == [1600, 300]


def test_too_little_does() -> None:
    places = [CutPoint(0, 10, 2), CutPoint(1400, 10, 1)]

    assert sizes(cheapest_pieces(places, 1900, at_least(1500, 2000))) == [1900]


def test_thinning_keeps_the_cheapest_of_close_places() -> None:
    places = [
        CutPoint(0, 0),
        CutPoint(100, 50),
        CutPoint(110, 10),
        CutPoint(115, 90),
        CutPoint(300, 50),
    ]

    kept = thinned(places, 400, 640)

    assert [place.offset for place in kept] == [0, 110, 300]


def test_thinning_makes_no_piece_too_long() -> None:
    places = [CutPoint(0, 0), CutPoint(10, 1000), CutPoint(650, 0)]

    assert thinned(places, 1000, 640) == places
