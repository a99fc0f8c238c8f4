from __future__ import annotations

from dowse._text.markdown import plain
from rows import check_rows


def test_tags_are_shown_as_what_they_mean() -> None:
    def check(row: tuple[str, str]) -> None:
        written, shown = row
        assert plain(written) == shown

    rows: list[tuple[str, str]] = [
        ('{{< glossary_tooltip text="Pods" term_id="pod" >}} run', "Pods run"),
        ('{{< figure src="a.png" caption="A mast" >}}', "A mast"),
        ("{{% note %}}Mind the gap.{{% /note %}}", "Note: Mind the gap."),
        ('See {{< relref "install.md" >}}.', "See install.md."),
        ("{{< youtube abc >}}after", "after"),
        ('{% include warning.html content="It is hot" %} now', "It is hot now"),
        ("{% if user %}Hello{% endif %}", "Hello"),
        ('{{ "Home" | relative_url }}', "Home"),
        ("Welcome to {{ site.title }}", "Welcome to "),
        (
            "`{{ .Values.name }}` and {{ .Values.name }}",
            "{{ .Values.name }} and {{ .Values.name }}",
        ),
        ("`{% raw %}`", "{% raw %}"),
        ("See {{< figure\n  src='a<b.png'\n  alt='100% of it' >}} here", "See 100% of it here"),
        ('<a href="{{< ref "pod.md" >}}">Pods</a> run', "Pods run"),
        ('**{% octicon "gear" aria-label="gear" %} Settings** are here', "Settings are here"),
        ('the **{% octicon "gear" %}** menu', "the  menu"),
        ('{{% heading "whatsnext" %}}', "What's next"),
        ('{{% heading "objectives" %}}', "Objectives"),
        ("{{fm.desc}}. Below", " Below"),
        ("{{< note >}}**Note:** Mind the gap.", "Note: Mind the gap."),
        ("Note: Note that it is hot", "Note that it is hot"),
        ("2 ** 3 ** 4 and f(**a, **b)", "2 ** 3 ** 4 and f(**a, **b)"),
        ("![mast.png](mast.png) and ![a mast](mast.png)", " and a mast"),
        ("<label class='x'>Level:</label> <tt>ALPHA</tt>", "Level: ALPHA"),
        ("![[mast.png|300]]", ""),
        ("![[mast.png|300x200]]", ""),
        ("![[Note|a label]]", "a label"),
        ("[[#^gap]]", "gap"),
        ("A line. ^gap-1", "A line."),
        ("^gap-1", ""),
    ]
    check_rows(rows, check)
