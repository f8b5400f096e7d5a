import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { MiniapiError } from "./error.js";
import { findProgram } from "./program.js";

const protocol = "v1";

/** The first line that a host writes. */
interface Hello {
  protocol: string;
  version: string;
  address: string;
  token: string;
}

const hosts = new Map<string, Promise<Host>>();

// Libraries for tests replace the global function.
const { fetch } = globalThis;

/**
 * Returns the host for servers with these settings, which are those of a whole process. The first call starts it. It ends
 * with this process.
 */
export function hostFor(featureGates: Record<string, boolean> = {}, emulatedVersion = ""): Promise<Host> {
  const settings = JSON.stringify([emulatedVersion, Object.entries(featureGates).sort()]);
  let host = hosts.get(settings);
  if (host === undefined) {
    host = start(() => hosts.delete(settings));
    hosts.set(settings, host);
  }
  return host;
}

/** Starts a host. The function onEnd is called when the host has ended, or can't be started. */
async function start(onEnd: () => void): Promise<Host> {
  const end = new AbortController();
  end.signal.addEventListener("abort", onEnd);
  try {
    const program = findProgram();
    // The host ends when its standard input does. In a process group of its own, it doesn't get the signals of the
    // terminal, so that tests that are interrupted can still stop their servers.
    const child = spawn(program, ["host"], { detached: process.platform !== "win32", windowsHide: true });
    watch(child, program, end);
    const [line] = await once(createInterface(child.stdout), "line", { signal: end.signal });
    const hello = JSON.parse(line as string) as Hello;
    if (hello.protocol !== protocol) {
      child.kill();
      throw new MiniapiError(
        `${program} is miniapi ${hello.version} with the protocol ${hello.protocol}, and this client needs ${protocol}: install the same version of both`,
      );
    }
    child.unref();
    for (const pipe of [child.stdin, child.stdout, child.stderr]) {
      (pipe as Socket).unref();
    }
    return new Host(child.pid, hello, end.signal);
  } catch (error) {
    onEnd();
    throw end.signal.aborted ? end.signal.reason : error;
  }
}

/** Aborts the controller when the process has ended or can't be started. The reason has the end of its standard error. */
function watch(child: ChildProcess, program: string, end: AbortController): void {
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4096);
  });
  child.once("error", (cause) => end.abort(new MiniapiError(`${program} can't be started`, { cause })));
  child.once("close", (code, signal) =>
    end.abort(new MiniapiError(`${program} host has ended with ${signal ?? `code ${code}`}: ${said.trim()}`)),
  );
}

/** A process that runs servers. */
export class Host {
  readonly pid: number | undefined;
  readonly #hello: Hello;
  readonly #ended: AbortSignal;

  constructor(pid: number | undefined, hello: Hello, ended: AbortSignal) {
    this.pid = pid;
    this.#hello = hello;
    this.#ended = ended;
  }

  /** Makes a request, and returns the body of the answer. */
  async request(method: string, path: string, body?: unknown): Promise<string> {
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(this.#hello.address + path, {
        method,
        headers: { Authorization: `Bearer ${this.#hello.token}` },
        body: body === undefined ? null : JSON.stringify(body),
        signal: this.#ended,
      });
      text = await answer.text();
    } catch (cause) {
      // If the host is ending, the reason is better than the broken connection.
      await setTimeout(1000, undefined, { signal: this.#ended }).catch(() => undefined);
      this.#ended.throwIfAborted();
      throw new MiniapiError(`${method} ${path}: the miniapi host doesn't answer`, { cause });
    }
    if (!answer.ok) {
      throw new MiniapiError(messageOf(text) ?? `${method} ${path}: the host answered ${answer.status}: ${text}`);
    }
    return text;
  }
}

/** Returns the message in the body of an error, or undefined. */
function messageOf(body: string): string | undefined {
  try {
    return (JSON.parse(body) as { message?: string }).message;
  } catch {
    return undefined;
  }
}
