#!/usr/bin/env bash
# Makes the editor of the site's pages out of CodeMirror: agentlib/course/site/pages/editor.js and its licence texts.
# Both files are kept in the repository, so this is run only to change the editor. Needs npm; the versions stand in
# .ci/editor/package.json, the hashes of all that they bring in package-lock.json.
set -euo pipefail

cd "$(dirname "$0")/editor"
pages=$(cd ../../agentlib/course/site/pages && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp package.json package-lock.json editor.js "$work"
cd "$work"
npm ci --silent --no-audit --no-fund --ignore-scripts
node_modules/.bin/esbuild editor.js --bundle --minify --format=esm --target=es2022 --legal-comments=none \
    --banner:js="// CodeMirror, for Python. Made by .ci/bundle_editor.sh; the licences stand in editor.LICENSE.txt." \
    --metafile=meta.json --outfile="$pages/editor.js"
# The licence of each package that something in the bundle is from.
node - >"$pages/editor.LICENSE.txt" <<'JS'
const fs = require("node:fs");
const inputs = Object.keys(Object.values(JSON.parse(fs.readFileSync("meta.json")).outputs)[0].inputs);
const names = [...new Set(inputs.map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean))].sort();
const byText = new Map();
for (const name of names) {
  const { version } = JSON.parse(fs.readFileSync(`node_modules/${name}/package.json`));
  const text = fs.readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
  byText.set(text, [...(byText.get(text) ?? []), `${name} ${version}`]);
}
console.log("editor.js is made of these packages.");
for (const [text, packages] of byText) console.log(`\n${"-".repeat(80)}\n${packages.join(", ")}\n\n${text}`);
JS
ls -l "$pages/editor.js" "$pages/editor.LICENSE.txt"
