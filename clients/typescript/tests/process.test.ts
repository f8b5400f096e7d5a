import { equal, rejects } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startServer } from "@miniapi-dev/miniapi";
import { hostFor } from "../src/host.js";

interface Started {
  pid: number;
  url: string;
  kubeconfigFile: string;
}

/** Starts unstopped.ts, and returns the process and what it has started. */
async function startUnstopped(...args: string[]): Promise<{ child: ChildProcess; started: Started }> {
  const script = fileURLToPath(new URL("unstopped.js", import.meta.url));
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface(child.stdout), "line");
  return { child, started: JSON.parse(line) };
}

/** Reports whether a process runs, and isn't the zombie that is left if the first process of a container waits for none. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

function isOpen(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(Number(new URL(url).port), "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** Waits until a process has ended. */
async function ended(pid: number): Promise<void> {
  for (const deadline = Date.now() + 30_000; isRunning(pid); await setTimeout(10)) {
    equal(Date.now() < deadline, true, "the host must have ended");
  }
}

/** Waits until nothing is left of a host and its server. */
async function assertGone({ pid, url, kubeconfigFile }: Started): Promise<void> {
  await ended(pid);
  equal(existsSync(dirname(kubeconfigFile)), false);
  equal(await isOpen(url), false);
}

test("21: when the process is killed, the host ends, and its files and ports are gone", async () => {
  const { child, started } = await startUnstopped("wait");
  equal(existsSync(started.kubeconfigFile), true);
  equal(await isOpen(started.url), true);
  child.kill("SIGKILL");
  await once(child, "exit");
  await assertGone(started);
});

test("a process with a server that nobody stops ends by itself", async () => {
  const { child, started } = await startUnstopped();
  equal(child.exitCode ?? (await once(child, "exit"))[0], 0);
  await assertGone(started);
});

test("a host that has ended is an error, and the next server gets another host", async () => {
  const server = await startServer();
  const { pid = 0 } = await hostFor();
  process.kill(pid);
  await ended(pid);
  await rejects(server.reset(), /host has ended with code 0/);
  await using _ = await startServer();
});
