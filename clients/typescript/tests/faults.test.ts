import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { useServer } from "@miniapi-dev/miniapi/node-test";
import { clientsOf, refusal } from "./clients.js";

const namespace = "default";
const server = useServer();

const update = async (size: string) => {
  const body = { metadata: { name: "settings" }, data: { size } };
  return clientsOf(server()).core.replaceNamespacedConfigMap({ namespace, name: "settings", body });
};
const create = () =>
  clientsOf(server()).core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "settings" } } });

test("13: the third update fails with a conflict", async () => {
  await create();
  await server().inject({ verbs: ["update"], resources: ["configmaps"], requests: 3, conflict: true });
  await update("1");
  await update("2");
  equal((await refusal(update("3"))).reason, "Conflict");
  await update("4");
});

test("14: when the fault is removed, updates succeed", async () => {
  await create();
  const busy = await server().inject({ name: "busy", verbs: ["update"], resources: ["configmaps"], conflict: true });
  equal((await refusal(update("1"))).reason, "Conflict");
  const [fault] = await server().faults();
  deepEqual([fault?.name, fault?.matched, fault?.injected], ["busy", 1, 1]);
  await busy.remove();
  await busy.remove();
  await update("1");
  {
    await using _ = await server().inject({ verbs: ["update"], resources: ["configmaps"], status: 503 });
    equal((await refusal(update("2"))).code, 503);
  }
  await update("2");
});

test("a reset removes faults", async () => {
  await server().inject({ verbs: ["create"], resources: ["configmaps"], status: 503 });
  await server().reset();
  await create();
  deepEqual(await server().faults(), []);
});

test("a wrong fault is an error", async () => {
  await rejects(server().inject({ verbs: ["get"] }), /fault/);
});
