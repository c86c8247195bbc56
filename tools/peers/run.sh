#!/usr/bin/env bash
# Live graphs beside other incremental engines, in one run on one core.
#
#   tools/peers/run.sh HARNESS [ENGINES] [SCENARIOS]      run.sh path/to/incremental "alien-rs incremental" "S1 S3"
#
# HARNESS is a folder with the harness of the peers (Cargo.toml, src/main.rs, js/, run.sh). It is copied to the temporary
# directory, our engine (eng_millstream.rs) is added, and all engines are built and run there, one after the other for
# each scenario. Prints a table: ours, the best of the others, the floor, and the number of runs of nodes.
# Needs cargo, node and npm, python3, flock and taskset, and the registries of both.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
harness=$(cd "$1" && pwd)
work=${TMPDIR:-/tmp}/millstream-peers
mkdir -p "$work"
rm -rf "$work/harness"
cp -r "$harness" "$work/harness"
cd "$work/harness"
cp "$here/eng_millstream.rs" src/
sed -i 's/^mod eng_ref;/mod eng_millstream;\n&/; s/^ *"ref" => run::<eng_ref::E>.*/        "millstream" => run::<eng_millstream::E>(\&c),\n&/' src/main.rs
sed -i "s|^\[dependencies\]|&\nmillstream-run = { path = \"$root/crates/run\" }\nmillstream-form = { path = \"$root/crates/form\" }\nmillstream-node = { path = \"$root/crates/node\" }|" Cargo.toml
rm -f Cargo.lock
cp "$harness/Cargo.lock" . 2>/dev/null || true
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$work/inc_target TMPDIR=$work
cargo build --release
[ "${2:-}" != build ] || exit 0
engines=${2:-ref incremental anchors salsa alien-rs reactive_graph sycamore floem adapton alien preact preact-pull reactively solid solid2}
for scenario in ${3:-S1 S2a S2b S3 S4 S5a S5b S5c S5d S5e S5f S5x S6 S7 S8}; do
  OUT=$work/$scenario.tsv NOBUILD=1 bash run.sh "millstream $engines" "$scenario" > /dev/null
  cat "$work/$scenario.tsv"
done > "$work/all.tsv"
python3 "$here/table.py" "$work/all.tsv"
