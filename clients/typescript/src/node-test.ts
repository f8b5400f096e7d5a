import { after, before, beforeEach } from "node:test";
import type { ServerOptions } from "./options.js";
import type { Server } from "./server.js";
import { suiteServer } from "./suite.js";

/** Runs a server for the tests of a file or a `describe` block, and resets it before each. */
export function useServer(options?: ServerOptions): () => Server {
  return suiteServer(
    {
      beforeAll: (hook, timeout) => before(hook, { timeout }),
      beforeEach: (hook, timeout) => beforeEach(hook, { timeout }),
      afterAll: (hook, timeout) => after(hook, { timeout }),
    },
    options,
  );
}
