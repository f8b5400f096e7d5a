import type { RequestListener } from "node:http";
import type { Converter, KubernetesObject, Webhook } from "./webhooks.js";

/** The options of a server. Relative paths start at the working directory of the process. */
export interface ServerOptions {
  /** Files, globs or folders with CustomResourceDefinitions, which are installed before all other objects. */
  crds?: string[];
  /** Files, globs or folders with objects, which are applied in their order. */
  manifests?: string[];
  /** Objects that are applied after the manifests. */
  objects?: KubernetesObject[];
  /**
   * Files, globs or folders with webhook configurations, which are installed after all other objects. The server calls
   * the webhooks of the test in place of their services.
   */
  webhookManifests?: string[];
  /** Webhooks of the test, by their paths. */
  webhooks?: Record<string, Webhook>;
  /** Conversion webhooks of the test, by their paths. */
  converters?: Record<string, Converter>;
  /** Answers the calls with other paths, such as the app of Express that runs in the cluster. */
  listener?: RequestListener;
  /** The URL of an HTTP server of this machine that answers the webhooks, in place of functions. */
  handlerAddress?: string;
  /** Further services in place of which the server calls the webhooks of the test. */
  services?: { namespace: string; name: string }[];
  /** Users with client certificates and contexts in the kubeconfig. */
  users?: User[];
  /** Records the decisions of admission about the last 1000 requests, which `why` and the assertions need. */
  trace?: boolean;
  featureGates?: Record<string, boolean>;
  /** The version of Kubernetes that the server emulates, such as "1.36". */
  emulatedVersion?: string;
  /** Admission plugins that are off by default. */
  enablePlugins?: string[];
  disablePlugins?: string[];
  /** A group whose users' requests webhooks and policies don't review, to store objects whatever they say. */
  exemptGroup?: string;
  /** Further API versions, such as `{"resource.k8s.io/v1beta1": "true"}`. */
  runtimeConfig?: Record<string, string>;
  /** The controllers that run in the server, such as `["*"]`. By default, none do. */
  controllers?: string[];
  /** Runs workloads, whose pods pretend to be ready: controllers, a scheduler and nodes. It may be empty. */
  workloads?: Workloads;
  /** A folder that keeps the data. */
  dataDir?: string;
  /** Other flags of `miniapi serve`, as "--name=value". */
  flags?: string[];
}

export interface Workloads {
  /** The number of nodes, 1 by default. */
  nodes?: number;
  /** Absolute paths of files with kwok's Stages, or names of sets of stages, such as "crash-loop:app=web". */
  stages?: string[];
  /** Runs the containers of pods with the annotation miniapi.dev/command as processes, as the user of the test. */
  runPods?: boolean;
}

export interface User {
  name: string;
  groups?: string[];
}

/** The client certificate of a user in PEM, and a kubeconfig with it. */
export interface Credentials {
  cert: string;
  key: string;
  kubeconfig: string;
}

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
