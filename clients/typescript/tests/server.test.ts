import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PatchStrategy, RbacAuthorizationV1Api, Watch } from "@kubernetes/client-node";
import { startServer } from "@miniapi-dev/miniapi";
import { hostFor } from "../src/host.js";
import { clientsOf, configOf, refusal } from "./clients.js";

const namespace = "default";
const named = (name: string, data: Record<string, string> = {}) => ({ namespace, body: { metadata: { name }, data } });

test("1: a server starts, and a ConfigMap is created and read", async () => {
  await using server = await startServer();
  const { core } = clientsOf(server);
  await core.createNamespacedConfigMap(named("settings", { size: "1" }));
  const { data } = await core.readNamespacedConfigMap({ namespace, name: "settings" });
  deepEqual(data, { size: "1" });
});

test("2: two servers run at the same time, and neither sees the objects of the other", async () => {
  await using one = await startServer();
  await using two = await startServer();
  await clientsOf(one).core.createNamespacedConfigMap(named("settings"));
  equal((await refusal(clientsOf(two).core.readNamespacedConfigMap({ namespace, name: "settings" }))).code, 404);
});

test("3: reset removes what a test has created, and restores what it has deleted", async () => {
  const given = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: "given" } };
  await using server = await startServer({ objects: [given] });
  const { core } = clientsOf(server);
  await core.createNamespacedConfigMap(named("created"));
  await core.deleteNamespacedConfigMap({ namespace, name: "given" });
  await server.reset();
  const { items } = await core.listNamespacedConfigMap({ namespace });
  deepEqual(
    items.map(({ metadata }) => metadata?.name),
    ["given"],
  );
});

test("4: a snapshot is restored, also twice", async () => {
  await using server = await startServer();
  const { core } = clientsOf(server);
  await core.createNamespacedConfigMap(named("kept", { round: "0" }));
  const snapshot = await server.snapshot();
  for (const round of ["1", "2"]) {
    await core.replaceNamespacedConfigMap({ name: "kept", ...named("kept", { round }) });
    await snapshot.restore();
    deepEqual((await core.readNamespacedConfigMap({ namespace, name: "kept" })).data, { round: "0" });
  }
  await snapshot.drop();
  await rejects(snapshot.restore(), /the server has no snapshot "1"/);
});

test("5: a widget is created, refused by its schema, and listed", async () => {
  await using server = await startServer({ crds: ["../testdata/widgets.yaml"], converters: {} });
  const { custom } = clientsOf(server);
  const widgets = { group: "example.com", version: "v1", namespace, plural: "widgets" };
  const widget = (name: string, size: number) =>
    custom.createNamespacedCustomObject({
      ...widgets,
      body: { apiVersion: "example.com/v1", kind: "Widget", metadata: { name }, spec: { size } },
    });
  await widget("good", 1);
  match((await refusal(widget("bad", 0))).message, /spec.size in body should be greater than or equal to 1/);
  const list = await custom.listNamespacedCustomObject(widgets);
  deepEqual(
    list.items.map((w: { metadata: { name: string } }) => w.metadata.name),
    ["good"],
  );
});

test("6: manifests are applied as text, and an unknown kind is an error that names the kind", async () => {
  await using server = await startServer();
  await server.apply({ text: "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}" });
  equal((await clientsOf(server).core.readNamespace({ name: "team" })).metadata?.name, "team");
  const unknown = server.apply({ text: "apiVersion: v1\nkind: Gadget\nmetadata: {name: one}" });
  await rejects(unknown, /no matches for kind "Gadget" in version "v1"/);
});

test("17: a user is refused by RBAC, and after a RoleBinding isn't", async () => {
  await using server = await startServer({ users: [{ name: "alice", groups: ["dev"] }] });
  const config = configOf(server);
  config.setCurrentContext("alice");
  const bob = await server.addUser({ name: "bob", groups: ["dev"] });
  for (const { core } of [clientsOf({ kubeconfig: config.exportConfig() }), clientsOf(bob)]) {
    match((await refusal(core.listNamespacedSecret({ namespace }))).message, /User "(alice|bob)" cannot list/);
  }
  await configOf(server)
    .makeApiClient(RbacAuthorizationV1Api)
    .createNamespacedRoleBinding({
      namespace,
      body: {
        metadata: { name: "dev" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "dev" }],
      },
    });
  deepEqual((await clientsOf(bob).core.listNamespacedSecret({ namespace })).items, []);
});

test("18: server-side apply by two managers conflicts, and is forced", async () => {
  await using server = await startServer();
  const { objects } = clientsOf(server);
  const apply = (manager: string, size: string, force?: boolean) => {
    const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: "settings" }, data: { size } };
    return objects.patch(settings, undefined, undefined, manager, force, PatchStrategy.ServerSideApply);
  };
  await apply("one", "1");
  match((await refusal(apply("two", "2"))).message, /conflict with "one": .data.size/);
  const forced: { data?: Record<string, string> } = await apply("two", "2", true);
  deepEqual(forced.data, { size: "2" });
});

test("19: a watch gets the events of a create, an update and a deletion, in order", async () => {
  await using server = await startServer();
  const { core } = clientsOf(server);
  const { metadata } = await core.listNamespacedConfigMap({ namespace });
  const events: string[] = [];
  let watching: AbortController | undefined;
  const watched = new Promise<void>((resolve, reject) => {
    const each = (type: string, { data }: { data: Record<string, string> }) => {
      events.push(`${type} ${data.size}`);
      if (events.length === 3) {
        resolve();
      }
    };
    new Watch(configOf(server))
      .watch(`/api/v1/namespaces/${namespace}/configmaps`, { resourceVersion: metadata?.resourceVersion }, each, reject)
      .then((controller) => {
        watching = controller;
      }, reject);
  });
  await core.createNamespacedConfigMap(named("settings", { size: "1" }));
  await core.replaceNamespacedConfigMap({ name: "settings", ...named("settings", { size: "2" }) });
  await core.deleteNamespacedConfigMap({ namespace, name: "settings" });
  await watched;
  watching?.abort();
  deepEqual(events, ["ADDED 1", "MODIFIED 2", "DELETED 2"]);
});

test("20: a wrong option is an error that names it, and no server runs", async () => {
  await rejects(startServer({ flags: ["--bogus"] }), { name: "MiniapiError", message: /unknown flag: --bogus/ });
  await rejects(startServer({ crds: ["none.yaml"], webhooks: {} }), /none.yaml: no such file/);
  await rejects(startServer(JSON.parse('{"gates": {}}')), /unknown field "gates"/);
  deepEqual(JSON.parse(await (await hostFor()).request("GET", "/v1/servers")), { servers: [] });
});

test("servers with other feature gates run at the same time", async () => {
  await using one = await startServer({ featureGates: { MutatingAdmissionPolicy: false } });
  await using two = await startServer({ emulatedVersion: "1.36" });
  for (const server of [one, two]) {
    equal((await clientsOf(server).core.readNamespace({ name: namespace })).metadata?.name, namespace);
  }
});

test("the log of a server can be read", async () => {
  await using server = await startServer();
  match((await server.log()).join("\n"), /Serving securely/);
});

test("the README has the first test", () => {
  equal(readFileSync("README.md", "utf8").includes(readFileSync("tests/first.test.ts", "utf8")), true);
});
