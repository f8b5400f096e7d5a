import { expect, test } from "@jest/globals";
import { denied } from "@miniapi-dev/miniapi";
import { useServer } from "@miniapi-dev/miniapi/jest";
import { clientsOf } from "../clients.js";

const namespace = "default";
const server = useServer({
  webhookManifests: ["../testdata/webhooks.yaml"],
  webhooks: { "/validate": () => denied("not in jest") },
});

const create = (labels: Record<string, string>) =>
  clientsOf(server()).core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "settings", labels } } });

test("a webhook refuses an object", async () => {
  await expect(create({ webhook: "validate" })).rejects.toThrow("not in jest");
});

test.each([1, 2])("the server is reset before test %d", async () => {
  expect((await create({})).metadata?.name).toBe("settings");
});
