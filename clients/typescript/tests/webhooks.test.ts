import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { V1ConfigMap } from "@kubernetes/client-node";
import { type AdmissionRequest, allowed, denied, patched } from "@miniapi-dev/miniapi";
import { useServer } from "@miniapi-dev/miniapi/node-test";
import { clientsOf, refusal } from "./clients.js";

const namespace = "default";
const webhookManifests = ["../testdata/webhooks.yaml"];
const settings = (webhook: string, data: Record<string, string> = {}) => ({
  namespace,
  body: { metadata: { name: "settings", labels: { webhook } }, data },
});

/** Refuses ConfigMaps with a size of more than one digit. */
function validate({ object }: AdmissionRequest<V1ConfigMap>) {
  return (object?.data?.size ?? "").length > 1 ? denied("the size must have one digit") : allowed();
}

/** Adds an annotation, and warns. */
function mutate() {
  return patched([{ op: "add", path: "/metadata/annotations", value: { mutated: "yes" } }], { warnings: ["mutated"] });
}

describe("admission webhooks", () => {
  const server = useServer({ webhookManifests, webhooks: { "/validate": validate, "/mutate": mutate }, trace: true });

  test("7: a handler refuses a ConfigMap, and the error has its message", async () => {
    const { core } = clientsOf(server());
    await core.createNamespacedConfigMap(settings("validate", { size: "9" }));
    const refused = await refusal(
      core.replaceNamespacedConfigMap({ name: "settings", ...settings("validate", { size: "10" }) }),
    );
    equal(refused.code, 403);
    equal(refused.message, 'admission webhook "validate.example.com" denied the request: the size must have one digit');
  });

  test("8: a handler adds an annotation by a JSON patch", async () => {
    const { metadata } = await clientsOf(server()).core.createNamespacedConfigMap(settings("mutate"));
    deepEqual(metadata?.annotations, { mutated: "yes" });
  });

  test("9: at a deletion, the handler gets the oldObject", async () => {
    const deleted: AdmissionRequest[] = [];
    server().handle({
      webhooks: {
        "/validate": async (request) => {
          deleted.push(request);
          return allowed();
        },
      },
    });
    const { core } = clientsOf(server());
    await core.createNamespacedConfigMap(settings("validate", { size: "3" }));
    await core.deleteNamespacedConfigMap({ namespace, name: "settings" });
    const [, request] = deleted;
    equal(request?.operation, "DELETE");
    equal(request.object, null);
    deepEqual(request.oldObject?.data, { size: "3" });
  });

  test("10: a dry run reaches the handler, and stores nothing", async () => {
    const dryRuns: (boolean | undefined)[] = [];
    server().handle({
      webhooks: {
        "/validate": (request) => {
          dryRuns.push(request.dryRun);
          return allowed();
        },
      },
    });
    const { core } = clientsOf(server());
    await core.createNamespacedConfigMap({ ...settings("validate"), dryRun: "All" });
    deepEqual(dryRuns, [true]);
    equal((await refusal(core.readNamespacedConfigMap({ namespace, name: "settings" }))).code, 404);
  });

  test("12: a handler that throws makes the request fail, and the error names the webhook and the reason", async () => {
    server().handle({
      webhooks: {
        "/validate": () => {
          throw new RangeError("the handler is broken");
        },
      },
    });
    const { message } = await refusal(clientsOf(server()).core.createNamespacedConfigMap(settings("validate")));
    match(message, /failed calling webhook "validate.example.com": .*RangeError: the handler is broken/);
  });

  test("15: why says that a webhook wasn't called because of its objectSelector", async () => {
    await clientsOf(server()).core.createNamespacedConfigMap(settings("none"));
    const [answer] = await server().why("ValidatingWebhookConfiguration/validate", "configmaps/settings");
    equal(answer?.called, false);
    equal(answer.verdict.reason, "ObjectSelector");
    match(answer.sentence, /was not called for CREATE of configmaps default\/settings .*objectSelector/);
    await server().assertNotCalled("ValidatingWebhookConfiguration/validate", "configmaps/settings", "ObjectSelector");
  });

  test("16: a failed assertion has the sentence of why, and the timeline", async () => {
    const [validating, object] = ["ValidatingWebhookConfiguration/validate", "configmaps/default/asserted"] as const;
    const create = (webhook: string) => {
      const body = { metadata: { name: "asserted", labels: { webhook } } };
      return core.createNamespacedConfigMap({ namespace, body });
    };
    const { core } = clientsOf(server());
    await rejects(server().assertNotCalled(validating, object), /no request for the object is recorded/);
    await create("none");
    await rejects(server().assertCalled(validating, object), {
      name: "AssertionError",
      message: /^want a call: \S+ was not called for CREATE .*webhook=validate.*\n#\d+ \S+ CREATE of configmaps/,
    });
    await rejects(server().assertNotCalled(validating, object, "Rules"), /want the reason Rules, got ObjectSelector/);
    await core.deleteNamespacedConfigMap({ namespace, name: "asserted" });
    await create("validate");
    await server().assertCalled(validating, object);
    await rejects(server().assertNotCalled(validating, object), /want a request without a call: .* was called/);
    const requests = await server().requests(object);
    deepEqual(
      requests.map(({ verb }) => verb),
      ["create", "delete", "create"],
    );
  });

  test("reset brings back the handlers of the start", async () => {
    server().handle({ webhooks: { "/validate": () => denied("replaced") } });
    await server().reset();
    await clientsOf(server()).core.createNamespacedConfigMap(settings("validate"));
  });

  test("a path without a handler is an error that names it", async () => {
    await server().apply({
      text: JSON.stringify({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "other" },
        webhooks: [
          {
            name: "other.example.com",
            clientConfig: {
              url: `${server().webhookURL}other`,
              caBundle: Buffer.from(server().ca).toString("base64"),
            },
            rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
          },
        ],
      }),
    });
    const { message } = await refusal(clientsOf(server()).core.createNamespacedConfigMap(settings("none")));
    match(message, /the test has no webhook and no converter for the path \/other/);
  });

  test("the calls are recorded as golden files", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reviews-"));
    try {
      await server().record(folder);
      await clientsOf(server()).core.createNamespacedConfigMap(settings("validate"));
      equal(readdirSync(folder).length, 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("conversion webhooks", () => {
  const server = useServer({
    crds: ["../testdata/widgets.yaml"],
    converters: {
      "/convert": ({ spec, ...widget }, apiVersion) => ({
        ...widget,
        apiVersion,
        spec: apiVersion === "example.com/v1" ? { size: spec.width } : { width: spec.size },
      }),
    },
  });

  test("11: a handler converts widgets from v1 to v1alpha1", async () => {
    const { custom } = clientsOf(server());
    const widgets = { group: "example.com", namespace, plural: "widgets" };
    const body = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "one" }, spec: { size: 3 } };
    await custom.createNamespacedCustomObject({ ...widgets, version: "v1", body });
    const converted = await custom.getNamespacedCustomObject({ ...widgets, version: "v1alpha1", name: "one" });
    deepEqual([converted.apiVersion, converted.spec], ["example.com/v1alpha1", { width: 3 }]);
  });
});

describe("a listener", () => {
  const server = useServer({
    webhookManifests,
    listener: (request, response) => {
      response.writeHead(500, { "Content-Type": "text/plain" }).end(`nothing at ${request.url?.split("?")[0]}`);
    },
  });

  test("answers the calls", async () => {
    const { message } = await refusal(clientsOf(server()).core.createNamespacedConfigMap(settings("validate")));
    match(message, /nothing at \/validate/);
  });
});
