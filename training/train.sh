#!/bin/sh
# Trains both models on one GPU: train.sh CORPUS MODEL OUT
# MODEL is a folder with all-MiniLM-L6-v2 (model.safetensors, tokenizer.json).
# CORPUS has chunks.jsonl, queries.jsonl, dev_chunks.jsonl and dev_queries.jsonl.
set -eu
corpus=$1 base=$2/model.safetensors out=$3
mkdir -p "$out"
python3 -m training.mining "$corpus" "$2" "$out/mined.pt"
python3 -m training.reranker "$out/mined.pt" "$base" "$out/teacher.safetensors" \
  --seconds "${TEACHER_SECONDS:-300}"
python3 -m training.reranker "$out/mined.pt" "$base" "$out/reranker.safetensors" \
  --layers 0,2,5 --teacher "$out/teacher.safetensors" --seconds "${RERANKER_SECONDS:-200}"
for together in 0.0 0.5; do
  python3 -m training.encoder "$out/mined.pt" "$base" "$out/encoder-$together.safetensors" \
    --together "$together" --teacher "$out/teacher.safetensors" --seconds "${ENCODER_SECONDS:-200}"
  for share in 0.5 0.7; do
    python3 -m training.between "$base" "$out/encoder-$together.safetensors" \
      "$out/encoder-$together-$share.safetensors" "$share"
  done
done
