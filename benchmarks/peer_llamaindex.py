"""The plain stack that many people build: LlamaIndex splits, sentence-transformers embeds, FAISS
keeps. Run by benchmarks/index.py in an environment of its own; prints its figures as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    folder, weights = Path(sys.argv[1]), sys.argv[2]
    import faiss  # noqa: PLC0415
    from llama_index.core import Document  # noqa: PLC0415
    from llama_index.core.node_parser import (  # noqa: PLC0415
        MarkdownNodeParser,
        SentenceSplitter,
    )
    from sentence_transformers import (  # noqa: PLC0415
        SentenceTransformer,
    )

    model = SentenceTransformer(weights, device="cpu")
    start = time.perf_counter()
    paths = sorted(folder.rglob("*.md"))
    documents = [Document(text=path.read_text("utf-8", "replace")) for path in paths]
    read = time.perf_counter()
    nodes = MarkdownNodeParser().get_nodes_from_documents(documents)
    # Sections have any length; what does not fit the model is split as its users split it.
    nodes = SentenceSplitter(chunk_size=256, chunk_overlap=25).get_nodes_from_documents(nodes)
    split = time.perf_counter()
    vectors = model.encode([node.text for node in nodes], batch_size=64, show_progress_bar=False)
    embedded = time.perf_counter()
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    faiss.write_index(index, str(folder.parent / "peer.faiss"))
    end = time.perf_counter()
    figures = {
        "files": len(paths),
        "chunks": len(nodes),
        "seconds": end - start,
        "files/s": len(paths) / (end - start),
        "chunks/s": len(nodes) / (end - start),
        "read s": read - start,
        "split s": split - read,
        "embed s": embedded - split,
        "store s": end - embedded,
        "again s": end - start,  # it keeps no account of files: a second run is a first run
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
