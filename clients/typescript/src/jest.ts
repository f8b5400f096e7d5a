import { afterAll, beforeAll, beforeEach } from "@jest/globals";
import type { ServerOptions } from "./options.js";
import type { Server } from "./server.js";
import { suiteServer } from "./suite.js";

/** Runs a server for the tests of a file or a `describe` block, and resets it before each. */
export function useServer(options?: ServerOptions): () => Server {
  return suiteServer({ beforeAll, beforeEach, afterAll }, options);
}
