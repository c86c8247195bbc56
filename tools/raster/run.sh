#!/bin/sh
# Times image filters beside those of other libraries, one after the other on one thread.
# Needs Python with opencv-python-headless, pyvips[binary] and numpy (PYTHON names it).
set -e
cd "$(dirname "$0")"
cargo run --release --quiet -- "$@"
"${PYTHON:-python3}" peers.py "$@"
