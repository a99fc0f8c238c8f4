"""What a user can choose about embedding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from dowse._util.bounds import ALWAYS, NAME, Options, check_key_variable, check_web_address
from dowse.errors import BadSettings

DEFAULT_MODEL = "dowse-docs-2"
"""The model that is part of dowse: there is nothing to fetch."""


class EmbedOptions(Options, frozen=True):
    """Which model turns texts into vectors, and where it runs."""

    provider: Annotated[
        Literal["local", "endpoint", "none"],
        ALWAYS,
        "Where vectors are made: on this machine, by an OpenAI-compatible endpoint, or nowhere.",
    ] = "local"
    model: Annotated[
        str,
        NAME,
        ALWAYS,
        "Local model: a known name, a name on the model hub, or a folder starting with /, ./ or ~.",
    ] = DEFAULT_MODEL
    precision: Annotated[
        Literal["auto", "int8", "fp32"],
        ALWAYS,
        "Arithmetic of the local model: auto means int8 where that was measured to cost nothing.",
    ] = "auto"
    threads: Annotated[
        int, Meta(ge=0, le=1024), ALWAYS, "Texts embedded at the same time; 0 means one per core."
    ] = 0
    batch_size: Annotated[int, Meta(ge=1, le=1024), ALWAYS, "Texts per batch, 1 to 1024."] = 32
    endpoint_url: Annotated[
        str,
        NAME,
        ALWAYS,
        "Address that /embeddings is appended to, such as http://localhost:11434/v1.",
    ] = ""
    endpoint_model: Annotated[
        str, NAME, ALWAYS, "Name of the model that the endpoint is asked for."
    ] = ""
    endpoint_dimensions: Annotated[
        int,
        Meta(ge=0, le=65_536),
        ALWAYS,
        "Length of the endpoint's vectors; 0 asks it once and remembers.",
    ] = 0
    endpoint_shorten: Annotated[
        bool, ALWAYS, "Ask the endpoint to shorten its vectors to endpoint_dimensions."
    ] = False
    endpoint_max_tokens: Annotated[
        int,
        Meta(ge=1, le=1_000_000),
        ALWAYS,
        "Tokens that the endpoint's model can read of a text.",
    ] = 8191
    endpoint_query_prefix: Annotated[
        str, NAME, ALWAYS, "Put before a query, as some models want it."
    ] = ""
    endpoint_passage_prefix: Annotated[
        str, NAME, ALWAYS, "Put before a passage, as some models want it."
    ] = ""
    endpoint_batch_size: Annotated[
        int, Meta(ge=1, le=2048), ALWAYS, "Most texts in one request, 1 to 2048."
    ] = 64
    endpoint_parallel: Annotated[
        int, Meta(ge=1, le=64), ALWAYS, "Requests under way at the same time, 1 to 64."
    ] = 4
    endpoint_timeout: Annotated[
        float, Meta(ge=0.1, le=3600), ALWAYS, "Seconds that the endpoint may take for one answer."
    ] = 60.0
    endpoint_retries: Annotated[
        int, Meta(ge=0, le=20), ALWAYS, "How often a failed request is tried again, 0 to 20."
    ] = 5
    api_key_env: Annotated[
        str,
        NAME,
        ALWAYS,
        "Name of the environment variable that holds the endpoint's key; never the key itself.",
    ] = ""

    def __post_init__(self) -> None:
        """Reject what no embedder could be opened with."""
        super().__post_init__()
        if self.provider != "endpoint":
            return
        check_web_address("embed.endpoint_url", self.endpoint_url)
        if not self.endpoint_model:
            raise BadSettings(
                "embed.endpoint_model is not set.",
                "Set it with: dowse config set embed.endpoint_model NAME",
            )
        if self.endpoint_shorten and not self.endpoint_dimensions:
            raise BadSettings("embed.endpoint_shorten needs embed.endpoint_dimensions.")
        check_key_variable("embed.api_key_env", self.api_key_env)


def is_folder(model: str) -> bool:
    """Say if a model is named by its place rather than by its name."""
    return model.startswith((".", "~")) or Path(model).is_absolute()
