import type { ServerOptions } from "./options.js";
import { type Server, startServer } from "./server.js";

type Hook = (hook: () => Promise<void>, timeout: number) => void;

/** The hooks of a test framework. */
export interface Hooks {
  beforeAll: Hook;
  beforeEach: Hook;
  afterAll: Hook;
}

/** The time for a hook, in milliseconds. A start takes some of it on a machine that is busy. */
const timeout = 60_000;

/** Starts a server before the tests, resets it before each, and stops it after them. Returns a function that returns it. */
export function suiteServer({ beforeAll, beforeEach, afterAll }: Hooks, options?: ServerOptions): () => Server {
  let server: Server | undefined;
  const started = () => {
    if (server === undefined) {
      throw new TypeError("the server starts before the tests: get it in a test or a hook");
    }
    return server;
  };
  beforeAll(async () => {
    server = await startServer(options);
  }, timeout);
  beforeEach(() => started().reset(), timeout);
  afterAll(async () => server?.stop(), timeout);
  return started;
}
