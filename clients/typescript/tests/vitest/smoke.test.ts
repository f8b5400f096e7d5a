import { denied, type Server, startServer } from "@miniapi-dev/miniapi";
import { useServer } from "@miniapi-dev/miniapi/vitest";
import { test as base, expect, test } from "vitest";
import { clientsOf } from "../clients.js";

const namespace = "default";
const server = useServer({
  webhookManifests: ["../testdata/webhooks.yaml"],
  webhooks: { "/validate": () => denied("not in vitest") },
});

const create = (labels: Record<string, string>) =>
  clientsOf(server()).core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "settings", labels } } });

test("a webhook refuses an object", async () => {
  await expect(create({ webhook: "validate" })).rejects.toThrow("not in vitest");
});

test.each([1, 2])("the server is reset before test %d", async () => {
  expect((await create({})).metadata?.name).toBe("settings");
});

const testWithServer = base.extend<{ own: Server }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires the pattern
  own: async ({}, use) => {
    await using server = await startServer();
    await use(server);
  },
});

testWithServer("a fixture starts a server for the test", async ({ own }) => {
  expect(own.url).not.toBe(server().url);
});
