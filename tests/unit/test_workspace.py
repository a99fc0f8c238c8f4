from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dowse._model import IndexReport
from dowse._project.indexing import watch_project
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._util.files import Locations, locations
from dowse.errors import BadSettings, Locked, NotFound, Refused, UsageError


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOWSE_PROJECT", raising=False)
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "none")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    own = tmp_path / "own"
    return Workspace(Locations(own / "config", own / "data", own / "cache"))


def _folder(tmp_path: Path, name: str, toml: str | None = None) -> Path:
    folder = tmp_path / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.md").write_text(f"# A\n\nNote in {name}.\n", "utf-8")
    if toml is not None:
        (folder / "dowse.toml").write_text(toml, "utf-8")
    return folder


def _agree(workspace: Workspace, file: Path) -> None:
    local = workspace.local_file(file.parent)
    assert local is not None
    workspace.trust.grant(file, local.digest)


# ── Which project a call means ───────────────────────────────────────────────


def test_without_projects_the_next_step_is_named(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(NotFound) as refusal:
        workspace.select(None, tmp_path)
    assert "dowse index PATH" in refusal.value.hint


def test_the_only_project_is_meant_from_everywhere(workspace: Workspace, tmp_path: Path) -> None:
    project = workspace.projects.add([_folder(tmp_path, "notes")])
    assert workspace.select(None, Path("/")) == project


def test_the_folder_decides_between_several(workspace: Workspace, tmp_path: Path) -> None:
    one = workspace.projects.add([_folder(tmp_path, "one")])
    two = workspace.projects.add([_folder(tmp_path, "one/two")])
    assert workspace.select(None, tmp_path / "one") == one
    assert workspace.select(None, tmp_path / "one" / "two" / "deep") == two
    with pytest.raises(UsageError, match="belongs to no project") as refusal:
        workspace.select(None, tmp_path)
    assert "one, two" in refusal.value.hint


def test_a_name_is_stronger_than_the_folder(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = workspace.projects.add([_folder(tmp_path, "one")])
    two = workspace.projects.add([_folder(tmp_path, "two")])
    assert workspace.select("two", one.roots[0]) == two
    monkeypatch.setenv("DOWSE_PROJECT", "two")
    assert workspace.select(None, one.roots[0]) == two
    assert workspace.select("one", two.roots[0]) == one
    with pytest.raises(NotFound, match="'three'"):
        workspace.select("three", tmp_path)


def test_a_local_file_above_leads_to_its_project(workspace: Workspace, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "repository", '[project]\nroots = ["docs"]\n')
    _folder(tmp_path, "repository/docs")
    other = _folder(tmp_path, "repository/source")
    project, _ = workspace.select_for_indexing(None, [], folder)
    workspace.projects.add([_folder(tmp_path, "unrelated")])
    assert workspace.select(None, other) == project


# ── Which project is indexed ─────────────────────────────────────────────────


def test_a_folder_without_a_project_becomes_one(workspace: Workspace, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "notes")
    project, within = workspace.select_for_indexing(None, [folder], tmp_path)
    assert (project.name, project.roots, within) == ("notes", (folder,), [])
    again, within = workspace.select_for_indexing(None, [folder], tmp_path)
    assert (again, within) == (project, [])


def test_the_current_folder_is_indexed_when_none_is_named(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = _folder(tmp_path, "notes")
    project, within = workspace.select_for_indexing(None, [], folder)
    assert (project.roots, within) == ((folder,), [])


def test_all_of_a_home_is_indexed_only_when_it_is_named(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for start in (tmp_path, Path("/")):
        with pytest.raises(Refused, match="more than documents"):
            workspace.select_for_indexing(None, [], start)
    assert workspace.projects.all() == []
    assert workspace.select_for_indexing(None, [tmp_path], tmp_path)[0].roots == (tmp_path,)


def test_a_part_of_a_project_is_indexed_alone(workspace: Workspace, tmp_path: Path) -> None:
    folder, part = _folder(tmp_path, "notes"), _folder(tmp_path, "notes/part")
    project = workspace.projects.add([folder])
    found = workspace.select_for_indexing(None, [part, folder / "a.md"], tmp_path)
    assert found == (project, [part, folder / "a.md"])
    assert workspace.select_for_indexing(None, [part, folder], tmp_path) == (project, [])


def test_a_name_gathers_folders(workspace: Workspace, tmp_path: Path) -> None:
    one, two = _folder(tmp_path, "one"), _folder(tmp_path, "two")
    project, within = workspace.select_for_indexing("both", [one, two], tmp_path)
    assert (project.name, project.roots, within) == ("both", (one, two), [])
    three = _folder(tmp_path, "three")
    project, within = workspace.select_for_indexing("both", [three], tmp_path)
    assert (project.roots, within) == ((one, two, three), [])


def test_the_environment_names_a_project_that_is_not_there_yet(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWSE_PROJECT", "mine")
    project, _ = workspace.select_for_indexing(None, [_folder(tmp_path, "notes")], tmp_path)
    assert project.name == "mine"


def test_what_does_not_exist_makes_no_project(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        workspace.select_for_indexing(None, [tmp_path / "nowhere"], tmp_path)
    assert workspace.projects.all() == []


def test_a_local_file_names_the_project(workspace: Workspace, tmp_path: Path) -> None:
    toml = '[project]\nname = "book"\nroots = ["docs", "notes"]\n'
    folder = _folder(tmp_path, "repository", toml)
    roots = (_folder(tmp_path, "repository/docs"), _folder(tmp_path, "repository/notes"))
    project, _ = workspace.select_for_indexing(None, [], folder)
    assert (project.name, project.roots) == ("book", roots)


def test_a_second_checkout_of_it_gets_a_name_of_its_own(
    workspace: Workspace, tmp_path: Path
) -> None:
    toml = '[project]\nname = "book"\n'
    names = [
        workspace.select_for_indexing(None, [], _folder(tmp_path, f"{n}", toml))[0].name
        for n in range(2)
    ]
    assert names == ["book", "book-2"]


@pytest.mark.parametrize("name", ["My Book!", "../evil", "日本"])
def test_whatever_name_a_local_file_asks_for(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    folder = _folder(tmp_path, "repository", f'[project]\nname = "{name}"\n')
    project, _ = workspace.select_for_indexing(None, [], folder)
    assert project.folder.parent == workspace.locations.projects


def test_a_folder_with_spaces_and_a_local_file(workspace: Workspace, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "My Notes", "[search]\ntop_n = 3\n")
    assert workspace.select_for_indexing(None, [folder], tmp_path)[0].name == "My-Notes"


def test_no_named_folder_is_forgotten_next_to_a_local_file(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder, other = _folder(tmp_path, "one", ""), _folder(tmp_path, "two")
    project, _ = workspace.select_for_indexing(None, [folder, other], tmp_path)
    assert project.roots == (folder, other)


# ── Settings ─────────────────────────────────────────────────────────────────


def test_settings_from_weakest_to_strongest(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = workspace.projects.add([_folder(tmp_path, "notes", "[search]\ntop_n = 2\n")])
    assert workspace.settings(None).settings.search.top_n == 5
    user = workspace.change_setting("search.top_n", "1", None)
    assert workspace.settings(None).origins["search.top_n"] == str(user)
    assert workspace.settings(project).settings.search.top_n == 2
    own = workspace.change_setting("search.top_n", "3", project)
    assert workspace.settings(project).origins["search.top_n"] == str(own)
    assert workspace.settings(project).settings.search.top_n == 3
    monkeypatch.setenv("DOWSE_SEARCH_TOP_N", "4")
    assert workspace.settings(project).settings.search.top_n == 4
    chosen = workspace.settings(project, {"search.top_n": 6})
    assert (chosen.settings.search.top_n, chosen.origins["search.top_n"]) == (6, "arguments")


def test_a_change_that_does_not_fit_the_others_is_refused(workspace: Workspace) -> None:
    with pytest.raises(BadSettings, match="endpoint_url"):
        workspace.change_setting("embed.provider", "endpoint", None)
    assert not workspace.locations.settings_file.exists()


def test_a_setting_that_is_no_more_can_be_taken_out(workspace: Workspace) -> None:
    workspace.locations.config.mkdir(parents=True)
    workspace.locations.settings_file.write_text("[search]\nlong_gone = 1\n", "utf-8")
    with pytest.raises(BadSettings, match="long_gone"):
        workspace.settings(None)
    workspace.change_setting("search.long_gone", None, None)
    assert workspace.settings(None).origins == {"embed.provider": "environment"}


# ── Consent ──────────────────────────────────────────────────────────────────


def test_what_is_outside_is_read_only_while_the_user_agrees(
    workspace: Workspace, tmp_path: Path
) -> None:
    toml = '[project]\nroots = [".", "../other"]\n[embed]\nmodel = "/elsewhere"\n'
    folder, other = _folder(tmp_path, "repository", toml), _folder(tmp_path, "other")
    project, _ = workspace.select_for_indexing(None, [], folder)
    assert len(workspace.settings(project).withheld) == 2
    assert workspace.settings(project).settings.embed.model != "/elsewhere"
    with workspace.open(project) as engine:
        engine.index()
        assert [entry.id for entry in engine.documents()] == ["a.md"]

    _agree(workspace, folder / "dowse.toml")
    assert workspace.settings(project).withheld == ()
    assert workspace.settings(project).settings.embed.model == "/elsewhere"
    with workspace.open(project) as engine:
        assert engine.project.roots == (folder, other)
        engine.index()
        assert [entry.id for entry in engine.documents()] == ["@other/a.md", "a.md"]
    assert workspace.projects.get(project.name).roots == (folder,)

    (folder / "dowse.toml").write_text(toml + "# changed\n", "utf-8")
    with workspace.open(project) as engine:
        engine.index()
        assert [entry.id for entry in engine.documents()] == ["a.md"]


def test_a_file_above_the_project_has_no_say_about_its_folders(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder, other = _folder(tmp_path, "up/notes"), _folder(tmp_path, "other")
    project = workspace.projects.add([folder])
    _folder(tmp_path, "up", f'[project]\nroots = ["{other}"]\n')
    _agree(workspace, tmp_path / "up" / "dowse.toml")
    with workspace.open(project) as engine:
        assert engine.project.roots == (folder,)


@pytest.mark.parametrize("swapped", ["up/notes", "up"])
@pytest.mark.parametrize("rebuild", [False, True])
def test_a_root_that_became_a_link_is_not_followed_and_stays_searchable(
    workspace: Workspace, tmp_path: Path, swapped: str, rebuild: bool
) -> None:
    folder = _folder(tmp_path, "up/notes")
    other = _folder(tmp_path, "other/notes")
    (other / "secret.md").write_text("# Secret\n\nNote.\n", "utf-8")
    project = workspace.projects.add([folder])
    with workspace.open(project) as engine:
        engine.index()
    link = tmp_path / swapped
    link.rename(tmp_path / "old")
    link.symlink_to(other if swapped == "up/notes" else other.parent)
    (other / "a.md").unlink()
    with workspace.open(project) as engine:
        with pytest.raises(Refused, match="is now a link") as refusal:
            engine.index(rebuild=rebuild)
        assert str(other) in refusal.value.message
        assert str(project.settings_file) in refusal.value.hint
        assert engine.status().freshness.deleted == 0
        assert [hit.document for hit in engine.search(SearchRequest("note")).hits] == ["a.md"]
        with pytest.raises(NotFound):
            engine.path_of("secret.md")
    link.unlink()
    (tmp_path / "old").rename(link)
    with workspace.open(project) as engine:
        assert engine.index(rebuild=rebuild).left_out == ()


def test_a_root_that_is_given_as_a_link_is_read(workspace: Workspace, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "notes")
    (tmp_path / "link").symlink_to(folder)
    project = workspace.projects.add([tmp_path / "link"])
    assert project.roots == (folder,)
    with workspace.open(project) as engine:
        assert engine.index().added == 1


def test_a_link_in_the_place_of_a_root_is_followed_with_consent(
    workspace: Workspace, tmp_path: Path
) -> None:
    repository, other = _folder(tmp_path, "repository", ""), _folder(tmp_path, "other")
    (repository / "dowse.toml").write_text('[project]\nroots = ["docs"]\n', "utf-8")
    docs = _folder(tmp_path, "repository/docs")
    project, _ = workspace.select_for_indexing(None, [], repository)
    docs.rename(repository / "old")
    docs.symlink_to(other)
    with workspace.open(project) as engine, pytest.raises(Refused, match="is now a link"):
        engine.index()
    _agree(workspace, repository / "dowse.toml")
    with workspace.open(project) as engine:
        engine.index()
        assert engine.path_of("a.md") == other / "a.md"
        assert engine.project.own_roots == ()


@pytest.mark.parametrize(
    ("own", "local"),
    [
        ('exclude = ["secret.md"]', 'exclude = ["secret.md", "!secret.md"]'),
        ('exclude = ["secret.md"]', 'exclude = ["!secret.md"]'),
        ('exclude = ["secret.md"]', 'exclude = ["drafts/"]'),
        ('exclude = ["secret.md"]', "exclude = []"),
        ('exclude = ["*.md", "!a.md", "!later.md"]', 'exclude = ["!a.md", "!later.md", "x.md"]'),
        ('include = ["*.md", "!secret.md"]', 'include = ["*.md"]'),
        ('include = ["*.md", "!secret.md"]', "include = []"),
        ('include = ["a.md", "later.md"]', 'include = ["a.md", "later.md", "secret.md"]'),
        ("gitignore = true", 'exclude = ["!secret.md"]'),
    ],
)
def test_patterns_of_a_folder_let_in_no_file_that_the_user_leaves_out(
    workspace: Workspace, tmp_path: Path, own: str, local: str
) -> None:
    workspace.locations.config.mkdir(parents=True)
    workspace.locations.settings_file.write_text(f"[read]\n{own}\n", "utf-8")
    folder = _folder(tmp_path, "notes", f"[read]\n{local}\n")
    if "gitignore" in own:
        (folder / ".gitignore").write_text("secret.md\n", "utf-8")
    project, _ = workspace.select_for_indexing(None, [], folder)
    with workspace.open(project) as engine:
        assert engine.index().left_out == ()
        # Consent is decided by what is there at each run, not when the project is made.
        (folder / "secret.md").write_text("# Secret\n", "utf-8")
        (folder / "later.md").write_text("# Later\n", "utf-8")
        report = engine.index()
        assert [entry.id for entry in engine.documents()] == ["a.md", "later.md"]
    (left_out,) = report.left_out
    assert left_out.id == "secret.md"
    assert "such as secret.md" in left_out.reason
    assert report.complete

    file = workspace.local_file(folder)
    assert file is not None
    assert any(str(folder / "secret.md") in wish for wish in workspace.wishes(file))
    _agree(workspace, folder / "dowse.toml")
    with workspace.open(project) as engine:
        engine.index()
        assert [entry.id for entry in engine.documents()] == ["a.md", "later.md", "secret.md"]


def test_patterns_of_a_folder_narrow_what_is_read_without_consent(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.locations.config.mkdir(parents=True)
    workspace.locations.settings_file.write_text('[read]\nexclude = ["secret.md"]\n', "utf-8")
    folder = _folder(tmp_path, "notes", '[read]\nexclude = ["drafts/"]\ninclude = ["*.md"]\n')
    _folder(tmp_path, "notes/drafts")
    (folder / "b.txt").write_text("B", "utf-8")
    (folder / "link.md").symlink_to("b.txt")  # the user's settings read it by its own name
    project, _ = workspace.select_for_indexing(None, [], folder)
    with workspace.open(project) as engine:
        assert engine.index().left_out == ()
        assert [entry.id for entry in engine.documents()] == ["a.md", "link.md"]
    file = workspace.local_file(folder)
    assert file is not None
    assert workspace.wishes(file) == ()


def test_a_file_of_another_user_does_not_choose_the_folder(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = _folder(tmp_path, "shared", '[project]\nname = "theirs"\n')
    folder = _folder(tmp_path, "shared/mine")
    owner = above.stat().st_uid
    monkeypatch.setattr("dowse._config.trust.os.geteuid", lambda: owner + 1)
    project, _ = workspace.select_for_indexing(None, [], folder)
    assert (project.name, project.roots) == ("mine", (folder,))


def test_a_broken_file_inside_a_project_does_not_matter(
    workspace: Workspace, tmp_path: Path
) -> None:
    project = workspace.projects.add([_folder(tmp_path, "notes")])
    inner = _folder(tmp_path, "notes/cloned", "[project")
    assert workspace.select(None, inner) == project


# ── Locations ────────────────────────────────────────────────────────────────


def test_locations_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.delenv(f"DOWSE_{name}_DIR", raising=False)
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "xdg" / name))
    assert locations().data == tmp_path / "xdg" / "DATA" / "dowse"
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "mine"))
    assert locations().data == tmp_path / "mine"
    assert locations().config == tmp_path / "xdg" / "CONFIG" / "dowse"


def test_only_what_is_named_is_indexed_below_a_local_file(
    workspace: Workspace, tmp_path: Path
) -> None:
    repository = _folder(tmp_path, "repository", "")
    docs = _folder(tmp_path, "repository/docs")
    project, within = workspace.select_for_indexing(None, [docs], tmp_path)
    assert (project.roots, within) == ((docs,), [])
    whole, _ = workspace.select_for_indexing("whole", [repository], tmp_path)
    assert whole.roots == (repository,)


# ── Changing projects beside a writer ────────────────────────────────────────


def test_no_project_is_renamed_or_removed_while_it_is_written(
    workspace: Workspace, tmp_path: Path
) -> None:
    project = workspace.projects.add([_folder(tmp_path, "notes")])
    with workspace.open(project) as engine:
        engine.index()
    with workspace.projects.indexes.undisturbed(project.folder):
        with pytest.raises(Locked):
            workspace.projects.rename("notes", "other")
        with pytest.raises(Locked):
            workspace.projects.remove("notes")
    assert workspace.projects.get("notes") == project


def test_a_project_inherits_nothing_from_one_of_the_same_name(
    workspace: Workspace, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        project = workspace.projects.add([_folder(tmp_path, name)], "notes")
        with workspace.open(project) as engine:
            assert engine.index().added == 1
        workspace.projects.remove("notes")
    left = [path.name for path in workspace.locations.data.rglob("*")]
    assert [name for name in left if not name.endswith(".lock")] == ["projects"]


# ── Watching ─────────────────────────────────────────────────────────────────


def test_a_watch_follows_its_settings(workspace: Workspace, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "notes", '[read]\nexclude = ["b.md"]\n')
    (folder / "b.md").write_text("Left out at first.\n", "utf-8")
    project = workspace.projects.add([folder])
    stop = threading.Event()
    added: list[int] = []

    def changed(report: IndexReport) -> None:
        added.append(report.added)
        if sum(added) == 1:
            (folder / "dowse.toml").write_text("[read]\nexclude = []\n", "utf-8")
        else:
            stop.set()

    watching = threading.Thread(target=watch_project, args=(workspace, project, changed, stop))
    watching.start()
    watching.join(timeout=60)
    stop.set()
    watching.join(timeout=60)
    assert not watching.is_alive()
    assert sum(added) == 2


def test_a_watch_follows_the_folders_of_its_project(workspace: Workspace, tmp_path: Path) -> None:
    folder, more = _folder(tmp_path, "notes", ""), _folder(tmp_path, "more", "")
    (folder / "b.md").write_text("The first folder.\n", "utf-8")
    project = workspace.projects.add([folder])
    stop = threading.Event()
    reports: list[IndexReport] = []

    def changed(report: IndexReport) -> None:
        reports.append(report)
        if len(reports) == 1:
            with workspace.open(workspace.projects.extend(project, [more])) as engine:
                engine.index()
            (folder / ".dowseignore").write_text("b.md\n", "utf-8")  # concerns all of it
        else:
            stop.set()

    watching = threading.Thread(target=watch_project, args=(workspace, project, changed, stop))
    watching.start()
    watching.join(timeout=60)
    stop.set()
    watching.join(timeout=60)
    assert sum(report.removed for report in reports) == 1
    with workspace.open(workspace.projects.get("notes")) as engine:
        ids = [entry.id for entry in engine.documents()]
    assert "b.md" not in ids
    assert [name for name in ids if name.startswith("@more/")]
