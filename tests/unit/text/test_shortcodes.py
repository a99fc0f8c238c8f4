from __future__ import annotations

import pytest

from dowse._text.markdown import plain


@pytest.mark.parametrize(
    ("written", "shown"),
    [
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
        ("![[mast.png|300]]", "mast.png"),
        ("![[mast.png|300x200]]", "mast.png"),
        ("![[Note|a label]]", "a label"),
        ("[[#^gap]]", "gap"),
        ("A line. ^gap-1", "A line."),
        ("^gap-1", ""),
    ],
)
def test_tags_are_shown_as_what_they_mean(written: str, shown: str) -> None:
    assert plain(written) == shown
