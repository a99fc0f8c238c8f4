"""Text → vectors: a local model, or an endpoint."""

from typing import TYPE_CHECKING

from dowse.late import late_names

if TYPE_CHECKING:
    from dowse.embed.open import (
        ModelStatus,
        can_rerank,
        known_models,
        models_status,
        open_embedder,
        open_model,
        open_reranker,
        pull,
        remove,
    )
    from dowse.embed.options import DEFAULT_MODEL, EmbedOptions
else:
    __getattr__ = late_names(
        __name__,
        {
            "open": "ModelStatus can_rerank known_models models_status open_embedder open_model"
            " open_reranker pull remove",
            "options": "DEFAULT_MODEL EmbedOptions",
        },
    )

__all__ = [
    "DEFAULT_MODEL",
    "EmbedOptions",
    "ModelStatus",
    "can_rerank",
    "known_models",
    "models_status",
    "open_embedder",
    "open_model",
    "open_reranker",
    "pull",
    "remove",
]
