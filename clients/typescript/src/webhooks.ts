import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** An object of any kind. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
  // biome-ignore lint/suspicious/noExplicitAny: the fields depend on the kind
  [field: string]: any;
}

export interface ObjectMeta {
  name?: string;
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: the other fields are those of Kubernetes
  [field: string]: any;
}

/** The request of an AdmissionReview. */
export interface AdmissionRequest<T = KubernetesObject> {
  uid: string;
  kind: { group: string; version: string; kind: string };
  resource: { group: string; version: string; resource: string };
  subResource?: string;
  requestKind?: { group: string; version: string; kind: string };
  requestResource?: { group: string; version: string; resource: string };
  requestSubResource?: string;
  name?: string;
  namespace?: string;
  operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  userInfo: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
  /** The object is null at a deletion. */
  object: T | null;
  /** The object before an update or a deletion, or null. */
  oldObject: T | null;
  dryRun?: boolean;
  options?: KubernetesObject | null;
}

/** What a webhook may answer besides its decision. */
export interface Remarks {
  warnings?: string[];
  auditAnnotations?: Record<string, string>;
}

/** The answer of a webhook. */
export interface AdmissionResult extends Remarks {
  allowed: boolean;
  status?: { message?: string; code?: number; reason?: string };
  patch?: PatchOperation[];
}

/** An operation of a JSON patch (RFC 6902). */
export type PatchOperation =
  | { op: "add" | "replace" | "test"; path: string; value: unknown }
  | { op: "remove"; path: string }
  | { op: "move" | "copy"; path: string; from: string };

/** A validating or mutating webhook. */
export type Webhook = (request: AdmissionRequest) => AdmissionResult | Promise<AdmissionResult>;

/** A conversion webhook: returns the object in the desired version. */
export type Converter = (object: KubernetesObject, apiVersion: string) => KubernetesObject | Promise<KubernetesObject>;

/** The webhooks of a server, by their paths. */
export interface Handlers {
  webhooks: Record<string, Webhook>;
  converters: Record<string, Converter>;
  /** Answers the calls with other paths. */
  listener?: RequestListener | undefined;
}

/** Admits the request. */
export const allowed = (remarks?: Remarks): AdmissionResult => ({ allowed: true, ...remarks });

/** Refuses the request with a message and the code 403. */
export const denied = (message: string, remarks?: Remarks): AdmissionResult => ({
  allowed: false,
  status: { message, code: 403, reason: "Forbidden" },
  ...remarks,
});

/** Admits the request with changes of the object. */
export const patched = (patch: PatchOperation[], remarks?: Remarks): AdmissionResult => ({
  allowed: true,
  patch,
  ...remarks,
});

interface Review {
  apiVersion: string;
  kind: string;
  request: AdmissionRequest & { desiredAPIVersion: string; objects: KubernetesObject[] };
}

/** Serves the handlers on a loopback address. It doesn't keep the process alive. */
export class WebhookServer {
  handlers: Handlers;
  readonly #http: Server;

  constructor(handlers: Handlers) {
    this.handlers = handlers;
    this.#http = createServer((request, response) => {
      const { webhooks, converters, listener } = this.handlers;
      const path = new URL(request.url ?? "/", "http://localhost").pathname;
      const webhook = webhooks[path];
      const converter = converters[path];
      if (webhook) {
        void answer(request, response, (review) => admit(review, webhook));
      } else if (converter) {
        void answer(request, response, (review) => convert(review, converter));
      } else if (listener) {
        listener(request, response);
      } else {
        fail(response, `the test has no webhook and no converter for the path ${path}`);
      }
    });
    this.#http.on("connection", (socket) => socket.unref());
  }

  /** Begins to serve, and returns the URL. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#http.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    this.#http.unref();
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#http.close();
    this.#http.closeAllConnections();
  }
}

/** Answers a review. If the function throws, the answer has the text of the error. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  respond: (review: Review) => Promise<object>,
) {
  try {
    const review = JSON.parse(await text(request)) as Review;
    const { apiVersion, kind } = review;
    const body = JSON.stringify({ apiVersion, kind, response: await respond(review) });
    response.writeHead(200, { "Content-Type": "application/json" }).end(body);
  } catch (error) {
    fail(response, String(error));
  }
}

async function admit({ request }: Review, webhook: Webhook): Promise<object> {
  const { patch, ...result } = await webhook(request);
  const encoded = patch && { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
  return { uid: request.uid, ...result, ...encoded };
}

async function convert({ request }: Review, converter: Converter): Promise<object> {
  const convertedObjects = await Promise.all(request.objects.map((o) => converter(o, request.desiredAPIVersion)));
  return { uid: request.uid, result: { status: "Success" }, convertedObjects };
}

/** Answers with the status 500, because the API server's error has the text of no other. */
function fail(response: ServerResponse, message: string): void {
  response.writeHead(500, { "Content-Type": "text/plain; charset=utf-8" }).end(message);
}
