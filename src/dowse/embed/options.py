"""What a user can choose about embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from dowse.errors import BadSettings

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model that needs no model hub: its weights come from the Python package index."""


@dataclass(frozen=True, slots=True)
class EmbedOptions:
    """Which model turns texts into vectors, and where it runs."""

    provider: Annotated[
        Literal["local", "endpoint", "none"],
        "Where vectors are made: on this machine, by an OpenAI-compatible endpoint, or nowhere.",
    ] = "local"
    model: Annotated[
        str,
        "Local model: a known name, a name on the model hub, or a folder starting with /, ./ or ~.",
    ] = DEFAULT_MODEL
    precision: Annotated[
        Literal["auto", "int8", "fp32"],
        "Arithmetic of the local model: auto means int8 where that was measured to cost nothing.",
    ] = "auto"
    threads: Annotated[int, "Texts embedded at the same time; 0 means one per core."] = 0
    batch_size: Annotated[int, "Most texts that are handed back at once, 1 to 1024."] = 32
    endpoint_url: Annotated[
        str, "Address that /embeddings is appended to, such as http://localhost:11434/v1."
    ] = ""
    endpoint_model: Annotated[str, "Name of the model that the endpoint is asked for."] = ""
    endpoint_dimensions: Annotated[
        int, "Length of the endpoint's vectors; 0 asks it once and remembers."
    ] = 0
    endpoint_shorten: Annotated[
        bool, "Ask the endpoint to shorten its vectors to endpoint_dimensions."
    ] = False
    endpoint_max_tokens: Annotated[int, "Tokens that the endpoint's model can read of a text."] = (
        8191
    )
    endpoint_query_prefix: Annotated[str, "Put before a query, as some models want it."] = ""
    endpoint_passage_prefix: Annotated[str, "Put before a passage, as some models want it."] = ""
    endpoint_batch_size: Annotated[int, "Most texts in one request, 1 to 2048."] = 64
    endpoint_parallel: Annotated[int, "Requests under way at the same time, 1 to 64."] = 4
    endpoint_timeout: Annotated[float, "Seconds that the endpoint may take for one answer."] = 60.0
    endpoint_retries: Annotated[int, "How often a failed request is tried again, 0 to 20."] = 5
    api_key_env: Annotated[
        str, "Name of the environment variable that holds the endpoint's key; never the key itself."
    ] = ""

    def __post_init__(self) -> None:
        """Rejects what no embedder could be opened with."""
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise BadSettings(f"embed.{name} must lie between {low} and {high}.")
        if self.provider == "endpoint":
            self._check_endpoint()

    def _check_endpoint(self) -> None:
        if not self.endpoint_url.startswith(("http://", "https://")):
            raise BadSettings(
                "embed.endpoint_url must start with http:// or https://.",
                "Set it with: dowse config set embed.endpoint_url URL",
            )
        if not self.endpoint_model:
            raise BadSettings(
                "embed.endpoint_model is not set.",
                "Set it with: dowse config set embed.endpoint_model NAME",
            )
        if self.endpoint_shorten and not self.endpoint_dimensions:
            raise BadSettings("embed.endpoint_shorten needs embed.endpoint_dimensions.")
        if self.api_key_env and not self.api_key_env.isidentifier():
            raise BadSettings(
                "embed.api_key_env must be the name of an environment variable.",
                "Put the key into that variable, not into the settings.",
            )


_RANGES: dict[str, tuple[float, float]] = {
    "threads": (0, 1024),
    "batch_size": (1, 1024),
    "endpoint_dimensions": (0, 65_536),
    "endpoint_max_tokens": (1, 1_000_000),
    "endpoint_batch_size": (1, 2048),
    "endpoint_parallel": (1, 64),
    "endpoint_timeout": (0.1, 3600.0),
    "endpoint_retries": (0, 20),
}
