// What docs/how-to tells people to type in JavaScript is typed here.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { House } from "./programs.mjs";

const here = new URL(".", import.meta.url);
const page = readFileSync(new URL("../../../docs/how-to/use-openai-sdks.md", here), "utf8");
const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map((found) => found[1]);
assert.equal(blocks.length, 2);

for (const [index, block] of blocks.entries()) {
  test(`block ${index + 1} of the page runs and says something`, async (t) => {
    const server = await new House(t).server();
    const code = block.replaceAll("http://127.0.0.1:8283", server.url);
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], { cwd: here });
    let said = "";
    child.stdout.on("data", (text) => (said += text));
    child.stderr.on("data", (text) => (said += text));
    const [status] = await once(child, "close");
    assert.equal(status, 0, said);
    assert.ok(said.trim());
  });
}
