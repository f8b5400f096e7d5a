package dev.miniapi.junit5;

import static dev.miniapi.junit5.Objects.assertContains;
import static dev.miniapi.junit5.Objects.assertFails;
import static dev.miniapi.junit5.Objects.configMap;
import static dev.miniapi.junit5.Objects.read;
import static dev.miniapi.junit5.Objects.widget;
import static dev.miniapi.junit5.Objects.widgets;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Webhooks whose handlers are functions of the test. Numbers are those of the suite in clients/README.md. */
class WebhookTest {
    private static final String VALIDATE = "ValidatingWebhookConfiguration/validate";

    @RegisterExtension
    final MiniapiExtension miniapi = new MiniapiExtension(new ServerOptions()
            .crds(Objects.WIDGETS)
            .webhookManifests(Objects.WEBHOOKS)
            .admission("/validate", this::validate)
            .admission(
                    "/mutate",
                    request -> AdmissionResponse.patched(
                                    AdmissionResponse.Patch.add("/metadata/annotations", Map.of("mutated", "yes")))
                            .warning("mutated"))
            .conversion("/convert", WebhookTest::convert)
            .trace());

    private final List<AdmissionRequest> requests = Collections.synchronizedList(new ArrayList<>());

    private AdmissionResponse validate(AdmissionRequest request) {
        requests.add(request);
        return request.name().equals("bad") ? AdmissionResponse.denied("bad name") : AdmissionResponse.allowed();
    }

    private static ObjectNode convert(ObjectNode widget, String desiredApiVersion) {
        ObjectNode spec = widget.withObject("/spec");
        if (desiredApiVersion.equals("example.com/v1alpha1")) {
            spec.set("width", spec.remove("size"));
        } else {
            spec.set("size", spec.remove("width"));
        }
        return widget.put("apiVersion", desiredApiVersion);
    }

    @Test // 7
    void handlerRefuses(KubernetesClient client) {
        assertFails(
                403,
                "admission webhook \"validate.example.com\" denied the request: bad name",
                () -> client.resource(configMap("bad", "validate")).create());
        client.resource(configMap("good", "validate")).create();
    }

    @Test // 8
    void handlerPatches(KubernetesClient client) {
        ConfigMap created = client.resource(configMap("a", "mutate")).create();
        assertEquals(Map.of("mutated", "yes"), created.getMetadata().getAnnotations());
    }

    @Test // 9
    void handlerGetsOldObject(KubernetesClient client) {
        client.resource(configMap("a", "validate")).create();
        client.resource(configMap("a", "validate")).delete();
        AdmissionRequest deletion = requests.get(1);
        assertEquals("DELETE", deletion.operation());
        assertEquals("a", deletion.oldObject(ConfigMap.class).getMetadata().getName());
        assertTrue(deletion.object().isNull());
    }

    @Test // 10
    void handlerGetsDryRuns(KubernetesClient client) {
        client.resource(configMap("a", "validate")).dryRun().create();
        assertTrue(requests.get(0).dryRun());
        assertNull(read(client, "a"));
    }

    @Test // 11
    void handlerConverts(KubernetesClient client) {
        client.resource(widget("a", "v1", Map.of("size", 3))).create();
        Map<String, Integer> spec = widgets(client, "v1alpha1")
                .inNamespace("default")
                .withName("a")
                .get()
                .get("spec");
        assertEquals(Map.of("width", 3), spec);
    }

    @Test // 12
    void handlerThrows(KubernetesClient client, MiniapiServer server) {
        server.admission("/validate", request -> {
            throw new IllegalStateException("no database");
        });
        assertFails(
                500,
                "failed calling webhook \"validate.example.com\"",
                () -> client.resource(configMap("a", "validate")).create());
        assertFails(
                500,
                "the handler of /validate has thrown java.lang.IllegalStateException: no database",
                () -> client.resource(configMap("a", "validate")).create());
        server.reset();
        client.resource(configMap("a", "validate")).create();
    }

    @Test
    void handlerReturnsNothing(KubernetesClient client, MiniapiServer server) {
        server.admission("/validate", request -> null);
        assertFails(
                500,
                "the handler has returned null",
                () -> client.resource(configMap("a", "validate")).create());
    }

    @Test // 15
    void whyNamesTheSelector(KubernetesClient client, MiniapiServer server) {
        client.resource(configMap("a", "other")).create();
        Why why = server.why(VALIDATE, "configmaps/default/a").get(0);
        assertEquals("ObjectSelector", why.reason());
        assertContains("requires webhook=validate, and the object has webhook=other", why.sentence());
        server.assertNotCalled(VALIDATE, "configmaps/default/a");
        assertEquals(1, server.requests("configmaps/default/a").size());
    }

    @Test // 16
    void assertionsSayWhy(KubernetesClient client, MiniapiServer server) {
        client.resource(configMap("a", "other")).create();
        client.resource(configMap("b", "validate")).create();
        server.assertCalled(VALIDATE, "configmaps/default/b");
        var notCalled = assertThrows(AssertionError.class, () -> server.assertCalled(VALIDATE, "configmaps/default/a"));
        assertContains("was not called for CREATE of configmaps default/a", notCalled.getMessage());
        assertContains("CREATE of configmaps default/a by system:admin -> 201", notCalled.getMessage());
        var called = assertThrows(AssertionError.class, () -> server.assertNotCalled(VALIDATE, "configmaps/default/b"));
        assertContains("was called for CREATE of configmaps default/b", called.getMessage());
        assertThrows(AssertionError.class, () -> server.assertNotCalled(VALIDATE, "configmaps/default/none"));
    }

    @Test
    void recordsReviews(KubernetesClient client, MiniapiServer server, @TempDir Path folder) throws IOException {
        server.record(folder);
        client.resource(configMap("a", "validate")).create();
        try (var files = Files.list(folder)) {
            assertEquals(1, files.count());
        }
    }

    @Test
    void missingHandlerIsNamed(MiniapiServer server) {
        var e = assertThrows(MiniapiException.class, () -> server.apply("""
                        apiVersion: admissionregistration.k8s.io/v1
                        kind: ValidatingWebhookConfiguration
                        metadata: {name: late}
                        webhooks:
                        - name: late.example.com
                          clientConfig: {service: {namespace: system, name: webhook-service, path: /late}}
                          rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
                          sideEffects: None
                          admissionReviewVersions: [v1]
                        ---
                        {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}}
                        """));
        assertContains(
                "the handler of /late has thrown java.util.NoSuchElementException: the test has only handlers of [/convert, /mutate, /validate]",
                e.getMessage());
    }
}
