import type { RequestListener } from "node:http";
import type { Certificate, ServiceName, Settings, Setup } from "./protocol.js";
import type { Converter, Webhook } from "./webhooks.js";

/** The options of a server. Relative paths start at the working directory of the process. */
export interface ServerOptions extends Setup, Settings {
  /** Webhooks of the test, by their paths. */
  webhooks?: Record<string, Webhook>;
  /** Conversion webhooks of the test, by their paths. */
  converters?: Record<string, Converter>;
  /** Answers the calls with other paths, such as the app of Express that runs in the cluster. */
  listener?: RequestListener;
  /** The URL of an HTTP server of this machine that answers the webhooks, in place of functions. */
  handlerAddress?: string;
  /** Further services in place of which the server calls the webhooks of the test. */
  services?: ServiceName[];
}

/** The client certificate of a user in PEM, and a kubeconfig with it. */
export type Credentials = Required<Certificate>;

/**
 * A fault: the requests that it selects, and what happens to them. docs/faults.md explains each field. An empty field
 * selects all requests. A list selects a value that matches one element, in which `*` stands for any text.
 */
export type Fault = {
  [list in "verbs" | "resources" | "namespaces" | "names" | "users" | "userAgents" | "paths" | "webhooks"]?: string[];
} & {
  [effect in "conflict" | "timeout" | "close" | "expire" | "executed" | "refuse" | "wrongUID" | "badPatch"]?: boolean;
} & {
  /** By default, the server chooses a name. */
  name?: string;
  /** Numbers of the selected requests, from 1: 3, "2-5", "4-" or "1,3". */
  requests?: number | string;
  /** The share of these requests, such as 0.1 or "10%". */
  share?: number | string;
  /** A pause before the request is served, such as "200ms" or "100ms..300ms". */
  latency?: string;
  /** An error of this code, with the reason and the message of the code by default. */
  status?: number;
  reason?: string;
  message?: string;
  retryAfter?: string;
  reset?: "stream" | "connection";
  /** The number of bytes of the answer after which the stream is reset. */
  truncate?: number;
  /** The number of events before the watch ends, with close or expire. */
  after?: number;
  /** A list of an earlier state: "frozen", "-3" or a resource version. */
  stale?: string;
};
