// A process that doesn't stop its server. With the argument "wait", it doesn't end by itself.
import { startServer } from "@miniapi-dev/miniapi";
import { hostFor } from "../src/host.js";

const server = await startServer({ webhookManifests: ["../testdata/webhooks.yaml"], webhooks: {} });
const { pid } = await hostFor();
console.log(JSON.stringify({ pid, url: server.url, kubeconfigFile: server.kubeconfigFile }));
if (process.argv[2] === "wait") {
  setInterval(() => undefined, 1000);
}
