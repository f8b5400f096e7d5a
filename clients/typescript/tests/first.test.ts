import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { allowed, denied } from "@miniapi-dev/miniapi";
import { useServer } from "@miniapi-dev/miniapi/node-test";

const server = useServer({
  webhookManifests: ["../testdata/webhooks.yaml"],
  webhooks: {
    "/validate": ({ object }) => (object?.data?.owner ? allowed() : denied("set an owner")),
  },
});

test("a ConfigMap needs an owner", async () => {
  const config = new KubeConfig();
  config.loadFromString(server().kubeconfig);
  const core = config.makeApiClient(CoreV1Api);
  const create = (name: string, data: Record<string, string>) =>
    core.createNamespacedConfigMap({
      namespace: "default",
      body: { metadata: { name, labels: { webhook: "validate" } }, data },
    });

  equal((await create("owned", { owner: "me" })).metadata?.name, "owned");
  await rejects(create("orphan", {}), /validate.example.com.* denied the request: set an owner/);
});
