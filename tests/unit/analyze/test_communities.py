"""Communities of linked documents: the same ones every time."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from documents import link
from dowse._index.pipeline import find_communities
from dowse._model import Edge


def edges(*pairs: tuple[str, str | None]) -> list[Edge]:
    return [Edge(source, link(target or "nowhere"), target) for source, target in pairs]


def clique(*names: str) -> list[Edge]:
    return edges(*combinations(names, 2))


def groups(communities: dict[str, int]) -> list[set[str]]:
    """The documents of each community, by its number."""
    found: dict[int, set[str]] = {}
    for name, number in communities.items():
        found.setdefault(number, set()).add(name)
    assert sorted(found) == list(range(len(found)))
    return [found[number] for number in range(len(found))]


def test_nothing_links_to_nothing() -> None:
    assert find_communities([]) == {}


def test_documents_without_links_have_none() -> None:
    found = find_communities(edges(("a", "b"), ("lonely", None), ("self", "self")))
    assert found == {"a": 0, "b": 0}


def test_two_cliques_and_a_bridge() -> None:
    found = find_communities([*clique(*"abcde"), *clique(*"wxyz"), *edges(("a", "w"))])
    assert groups(found) == [set("abcde"), set("wxyz")]


def test_separate_parts_are_separate_communities_the_largest_first() -> None:
    found = find_communities([*clique(*"xyz"), *edges(("p", "q")), *clique(*"abcd")])
    assert groups(found) == [set("abcd"), set("xyz"), set("pq")]


def test_of_equals_the_first_by_name_comes_first() -> None:
    assert groups(find_communities([*clique(*"xyz"), *clique(*"abc")])) == [set("abc"), set("xyz")]


def test_a_ring_of_cliques() -> None:
    cliques = [[f"{number}-{member}" for member in range(6)] for number in range(8)]
    ring = [edge for members in cliques for edge in clique(*members)]
    ring += edges(*((f"{number}-0", f"{(number + 1) % 8}-1") for number in range(8)))
    assert groups(find_communities(ring)) == [set(members) for members in cliques]


@pytest.fixture
def web() -> list[Edge]:
    """A web in which no division is clearly the best."""
    rng = random.Random(4)
    names = [f"{number:03}.md" for number in range(120)]
    return edges(*((rng.choice(names), rng.choice(names)) for _ in range(300)))


def test_the_same_links_give_the_same_communities(web: list[Edge]) -> None:
    expected = find_communities(web)
    assert len(set(expected.values())) > 3
    random.seed(99)
    assert find_communities(web) == expected


def test_order_direction_and_repetition_of_links_make_no_difference(web: list[Edge]) -> None:
    expected = find_communities(web)
    rng = random.Random(1)
    for _ in range(5):
        mixed = [
            Edge(edge.target, link(edge.source, "embed"), edge.source)
            if edge.target and rng.random() < 0.5
            else edge
            for edge in web
        ]
        mixed += rng.sample(web, 50)
        rng.shuffle(mixed)
        assert find_communities(mixed) == expected


def test_the_random_numbers_of_the_caller_are_left_alone() -> None:
    random.seed(5)
    expected = random.random()
    random.seed(5)
    find_communities(clique(*"abc"))
    assert random.random() == expected
