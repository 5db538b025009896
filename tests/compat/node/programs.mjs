// Starts the real server and the fake vendor for the tests of Node clients. Programs are stopped by their pid.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
const programs = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug");

/** A program that prints its address. */
class Program {
  constructor(name, options, env = {}) {
    const inherited = { PATH: process.env.PATH, ...env };
    this.process = spawn(join(programs, name), options, { env: inherited, stdio: ["ignore", "pipe", "pipe"] });
    this.said = "";
    this.process.stderr.on("data", (text) => (this.said += text));
    this.ended = once(this.process, "exit");
  }

  async address() {
    for await (const line of createInterface({ input: this.process.stdout })) {
      const found = line.match(/http:\/\/127\.0\.0\.1:\d+/);
      if (found) {
        this.process.stdout.resume();
        return found[0];
      }
    }
    throw new Error(`${this.process.spawnfile} printed no address: ${this.said}`);
  }

  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.ended;
  }
}

/** A folder for a server, servers on it, and vendors; all of them end with the test `t`. */
export class House {
  constructor(t) {
    this.folder = mkdtempSync(join(tmpdir(), "librarian-"));
    this.running = [];
    t.after(async () => {
      await Promise.all(this.running.map((program) => program.kill()));
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  async run(name, options, env) {
    const program = new Program(name, options, env);
    this.running.push(program);
    program.url = await program.address();
    return program;
  }

  /** `librarian serve`, which remembers what earlier servers of this house were told. */
  server(env = {}) {
    const options = ["serve", "--port", "0", "--data-dir", join(this.folder, "data")];
    return this.run("librarian", options, { HOME: this.folder, ...env });
  }

  /** A vendor that does as the last user message says. */
  vendor() {
    return this.run("fake-vendor", ["--port", "0"]);
  }

  /** A server whose agent asks a vendor. */
  async both(env = {}) {
    const vendor = await this.vendor();
    const environment = { OPENAI_API_KEY: "test", OPENAI_BASE_URL: `${vendor.url}/v1`, ...env };
    return { vendor, environment, server: await this.server(environment) };
  }
}

/** The bodies of all chat requests that a vendor received. */
export async function requestsOf(vendor) {
  const answer = await fetch(`${vendor.url}/_requests`);
  return (await answer.json()).map((request) => request.body);
}
