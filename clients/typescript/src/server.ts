import { AssertionError } from "node:assert";
import { readFileSync } from "node:fs";
import { type Host, hostFor } from "./host.js";
import type { Credentials, Fault, ServerOptions } from "./options.js";
import type { User } from "./protocol.js";
import type { Answer, ObjectName, TracedRequest } from "./trace.js";
import { type Handlers, WebhookServer } from "./webhooks.js";

/** The host's description of a server. */
interface Description {
  id: string;
  url: string;
  ca: string;
  cert: string;
  key: string;
  kubeconfig: string;
  webhookURL?: string;
  warnings?: string[];
}

/** A copy of all objects of a server. At the end of `await using`, it is dropped. */
export interface Snapshot extends AsyncDisposable {
  /** Brings back the objects of the snapshot, any number of times. */
  restore(): Promise<void>;
  drop(): Promise<void>;
}

/** A fault that the server injects, until it is removed, at the latest at the end of `await using` or by a reset. */
export interface InjectedFault extends AsyncDisposable {
  readonly name: string;
  remove(): Promise<void>;
}

/** Starts an API server, and returns it when it is ready. At the end of `await using`, the server stops. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const { crds, manifests, objects, webhookManifests, users, trace, ...others } = options;
  const { webhooks, converters, listener, handlerAddress, services, ...settings } = others;
  const handlers = () => ({ webhooks: { ...webhooks }, converters: { ...converters }, listener });
  const http = webhooks || converters || listener ? new WebhookServer(handlers()) : undefined;
  try {
    const address = handlerAddress ?? (await http?.listen());
    const setup = {
      crds,
      manifests,
      objects,
      webhookManifests,
      users,
      trace,
      handler: address && { address, services },
    };
    const host = await hostFor(options.featureGates, options.emulatedVersion);
    const started = await host.request("POST", "/v1/servers", { setup, ...settings });
    return new Server(host, JSON.parse(started) as Description, http, handlers);
  } catch (error) {
    http?.close();
    throw error;
  }
}

/** An API server. */
export class Server implements AsyncDisposable {
  readonly url: string;
  /** The authority of the server's certificate, and the certificate and the key of the admin, in PEM. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** The path of a kubeconfig with a context for the admin, which is the current one, and for each user. */
  readonly kubeconfigFile: string;
  /** The URL of the test's webhooks, for configurations that have a URL in place of a service. */
  readonly webhookURL: string | undefined;
  /** Says which options don't have the expected effect. */
  readonly warnings: readonly string[];
  readonly #path: string;
  readonly #faults = new Set<string>();
  #stopped: Promise<void> | undefined;

  /** @internal */
  constructor(
    private readonly host: Host,
    description: Description,
    private readonly http: WebhookServer | undefined,
    private readonly handlers: () => Handlers,
  ) {
    this.url = description.url;
    this.ca = description.ca;
    this.cert = description.cert;
    this.key = description.key;
    this.kubeconfigFile = description.kubeconfig;
    this.webhookURL = description.webhookURL;
    this.warnings = description.warnings ?? [];
    this.#path = `/v1/servers/${description.id}`;
  }

  /** The text of the kubeconfig. */
  get kubeconfig(): string {
    return readFileSync(this.kubeconfigFile, "utf8");
  }

  /** Replaces webhooks and converters of the given paths, until the next reset. */
  handle({ webhooks, converters }: Partial<Handlers>): void {
    if (!this.http) {
      throw new TypeError("the server was started without webhooks and converters: give some, or {}");
    }
    Object.assign(this.http.handlers.webhooks, webhooks);
    Object.assign(this.http.handlers.converters, converters);
  }

  /** Brings back the objects and the webhooks of the start, and removes the faults that the test has injected. */
  async reset(): Promise<void> {
    if (this.http) {
      this.http.handlers = this.handlers();
    }
    await Promise.all([...this.#faults].map((name) => this.#removeFault(name)));
    await this.#request("POST", "/reset");
  }

  async snapshot(): Promise<Snapshot> {
    const { id } = await this.#json<{ id: string }>("POST", "/snapshots");
    const drop = async () => void (await this.#request("DELETE", `/snapshots/${id}`));
    return {
      restore: async () => void (await this.#request("POST", `/snapshots/${id}/restore`)),
      drop,
      [Symbol.asyncDispose]: drop,
    };
  }

  /**
   * Applies objects: those of files, globs and folders, and then those of a text in YAML or JSON. Returns the server's
   * warnings. What the objects configure is in force then.
   */
  async apply(manifests: { paths?: string[]; text?: string }): Promise<string[]> {
    return (await this.#json<{ warnings?: string[] }>("POST", "/manifests", manifests)).warnings ?? [];
  }

  /** Issues a client certificate for a user. */
  addUser(user: User): Promise<Credentials> {
    return this.#json("POST", "/users", user);
  }

  async inject(fault: Fault): Promise<InjectedFault> {
    const { faults } = await this.#json<{ faults: { name: string }[] }>("POST", "/faults", { faults: [fault] });
    const name = faults[0]?.name ?? "";
    const remove = () => this.#removeFault(name);
    this.#faults.add(name);
    return { name, remove, [Symbol.asyncDispose]: remove };
  }

  /** Returns the faults, with the numbers of the requests that each has selected (matched) and changed (injected). */
  async faults(): Promise<(Fault & { name: string; matched: number; injected: number })[]> {
    return (await this.#json<{ faults: Awaited<ReturnType<Server["faults"]>> }>("GET", "/faults")).faults;
  }

  /**
   * Says for each webhook of a configuration, named as "KIND/NAME", why the server called it or not for the last request
   * for an object. Policies are named in the same way.
   */
  async why(webhook: string, object: ObjectName): Promise<Answer[]> {
    const query = queryFor(object, { webhook });
    return (await this.#json<{ answers: Answer[] }>("GET", `/why?${query}`)).answers;
  }

  /** Fails unless the server has called all webhooks of a configuration for the last request for an object. */
  async assertCalled(webhook: string, object: ObjectName): Promise<void> {
    for (const answer of await this.why(webhook, object)) {
      if (!answer.called || answer.evaluated) {
        throw await this.#assertion(`want a call: ${answer.sentence}`, object);
      }
    }
  }

  /**
   * Fails unless the server has called no webhook of a configuration for the last request for an object, for a reason
   * such as "ObjectSelector" if one is given.
   */
  async assertNotCalled(webhook: string, object: ObjectName, reason?: string): Promise<void> {
    for (const { called, evaluated, verdict, sentence } of await this.why(webhook, object)) {
      if (called || evaluated || verdict.reason === "NotRecorded") {
        throw await this.#assertion(`want a request without a call: ${sentence}`, object);
      }
      if (reason !== undefined && verdict.reason !== reason) {
        throw await this.#assertion(`want the reason ${reason}, got ${verdict.reason}: ${sentence}`, object);
      }
    }
  }

  /** Returns the recorded requests for an object, or all of them. */
  async requests(object?: ObjectName): Promise<TracedRequest[]> {
    return (await this.#json<{ requests: TracedRequest[] }>("GET", `/requests?${queryFor(object)}`)).requests;
  }

  /** Returns a text with the recorded requests for an object, or all of them, and what admission did with each. */
  timeline(object?: ObjectName): Promise<string> {
    return this.#request("GET", `/requests?${queryFor(object, { output: "text" })}`);
  }

  /** Writes the calls of the webhooks from now on as golden files of a folder, with the answers. */
  async record(folder: string): Promise<void> {
    await this.#request("PUT", "/recording", { folder });
  }

  /** Returns the lines of the server's log since the last call. */
  async log(): Promise<string[]> {
    const events = (await this.#request("GET", "/events?follow=false")).split("\n").filter(Boolean);
    return events.flatMap((event) => (JSON.parse(event) as { log?: string }).log ?? []);
  }

  /** Stops the server. Nothing is left of it when the promise is resolved. */
  stop(): Promise<void> {
    this.#stopped ??= this.#request("DELETE", "").then(() => this.http?.close());
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #request(method: string, path: string, body?: unknown): Promise<string> {
    return this.host.request(method, this.#path + path, body);
  }

  async #json<T>(method: string, path: string, body?: unknown): Promise<T> {
    return JSON.parse(await this.#request(method, path, body)) as T;
  }

  async #removeFault(name: string): Promise<void> {
    if (this.#faults.delete(name)) {
      await this.#request("DELETE", `/faults/${encodeURIComponent(name)}`);
    }
  }

  async #assertion(message: string, object: ObjectName): Promise<AssertionError> {
    return new AssertionError({ message: `${message}\n${await this.timeline(object)}` });
  }
}

/** Returns the parameters of a query for an object, or for all of them. */
function queryFor(object?: ObjectName, others?: Record<string, string>): URLSearchParams {
  if (object === undefined) {
    return new URLSearchParams(others);
  }
  const [resource = "", ...rest] = object.split("/");
  const [name = "", namespace = "default"] = rest.reverse();
  return new URLSearchParams({ resource, namespace, name, ...others });
}
