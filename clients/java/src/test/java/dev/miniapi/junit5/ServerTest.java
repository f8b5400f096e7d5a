package dev.miniapi.junit5;

import static dev.miniapi.junit5.Objects.assertContains;
import static dev.miniapi.junit5.Objects.assertFails;
import static dev.miniapi.junit5.Objects.configMap;
import static dev.miniapi.junit5.Objects.read;
import static dev.miniapi.junit5.Objects.widget;
import static dev.miniapi.junit5.Objects.widgets;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Servers and their objects. Numbers are those of the suite in clients/README.md. */
class ServerTest {
    @RegisterExtension
    static final MiniapiExtension MINIAPI = new MiniapiExtension(new ServerOptions()
            .crds(Objects.WIDGETS)
            .objects(
                    new NamespaceBuilder()
                            .withNewMetadata()
                            .withName("team")
                            .endMetadata()
                            .build(),
                    configMap("given", "none"))
            .user("bob"));

    private final KubernetesClient client;
    private final MiniapiServer server;

    ServerTest(KubernetesClient client, MiniapiServer server) {
        this.client = client;
        this.server = server;
    }

    @Test // 1
    void createsAndReads() {
        client.resource(configMap("a", "none")).create();
        assertEquals("a", read(client, "a").getMetadata().getName());
        try (KubernetesClient another = Objects.client(server.kubeconfig())) {
            assertNotNull(read(another, "a"));
        }
    }

    @Test
    void hasLogAndAddress() {
        assertContains("admission controller", String.join("\n", server.log()));
        assertContains(server.url(), server.kubeconfig());
        assertEquals(List.of(), server.warnings());
    }

    @Test // 2
    void serversAreApart() {
        try (MiniapiServer second = MiniapiServer.start(new ServerOptions())) {
            KubernetesClient other = second.client(KubernetesClient.class);
            client.resource(configMap("a", "none")).create();
            other.resource(configMap("b", "none")).create();
            assertNull(read(client, "b"));
            assertNull(read(other, "a"));
        }
    }

    @Test // 3
    void resetBringsBackTheStart() {
        client.resource(configMap("a", "none")).create();
        client.resource(configMap("given", "none")).delete();
        server.reset();
        assertNull(read(client, "a"));
        assertNotNull(read(client, "given"));
    }

    @Test // 4
    void snapshotIsRestoredTwice() {
        client.resource(configMap("kept", "none")).create();
        MiniapiServer.Snapshot snapshot = server.snapshot();
        for (int i = 0; i < 2; i++) {
            client.resource(configMap("kept", "none")).delete();
            client.resource(configMap("later", "none")).create();
            server.restore(snapshot);
            assertNotNull(read(client, "kept"));
            assertNull(read(client, "later"));
        }
        server.drop(snapshot);
        assertThrows(MiniapiException.class, () -> server.restore(snapshot));
    }

    @Test // 5
    void customResources() {
        client.resource(widget("small", "v1", Map.of("size", 1))).create();
        assertFails(
                422,
                "spec.size",
                () -> client.resource(widget("none", "v1", Map.of("size", 0))).create());
        List<String> names = widgets(client, "v1").inNamespace("default").list().getItems().stream()
                .map(widget -> widget.getMetadata().getName())
                .toList();
        assertEquals(List.of("small"), names);
    }

    @Test // 6
    void appliesText() {
        server.apply("""
                apiVersion: v1
                kind: ConfigMap
                metadata: {name: applied, namespace: team}
                """);
        assertNotNull(
                client.configMaps().inNamespace("team").withName("applied").get());
        var e = assertThrows(
                MiniapiException.class,
                () -> server.apply("{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}}"));
        assertContains("Gadget", e.getMessage());
    }

    @Test // 17
    void usersHaveTheirRights() {
        try (KubernetesClient alice = Objects.client(server.addUser("alice", "dev"))) {
            assertFails(
                    403,
                    "User \"alice\" cannot create",
                    () -> alice.resource(configMap("a", "none")).create());
            server.apply("""
                    apiVersion: rbac.authorization.k8s.io/v1
                    kind: RoleBinding
                    metadata: {name: dev, namespace: default}
                    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
                    subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}]
                    """);
            alice.resource(configMap("a", "none")).create();
        }
        assertContains("bob", server.kubeconfig());
    }

    @Test // 18
    void serverSideApplyConflicts() {
        client.resource(withColor("red")).patch(applyAs("one", false));
        assertFails(
                409,
                "conflict with \"one\"",
                () -> client.resource(withColor("blue")).patch(applyAs("two", false)));
        client.resource(withColor("blue")).patch(applyAs("two", true));
        assertEquals("blue", read(client, "shared").getData().get("color"));
    }

    private static ConfigMap withColor(String color) {
        return new ConfigMapBuilder(configMap("shared", "none"))
                .addToData("color", color)
                .build();
    }

    private static PatchContext applyAs(String manager, boolean force) {
        return new PatchContext.Builder()
                .withPatchType(PatchType.SERVER_SIDE_APPLY)
                .withFieldManager(manager)
                .withForce(force)
                .build();
    }

    @Test // 19
    void watchesInOrder() throws InterruptedException {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        var watch = client.configMaps()
                .inNamespace("default")
                .withName("watched")
                .watch(new Watcher<>() {
                    @Override
                    public void eventReceived(Action action, ConfigMap object) {
                        events.add(action.name());
                    }

                    @Override
                    public void onClose(WatcherException cause) {}
                });
        try (watch) {
            client.resource(configMap("watched", "none")).create();
            client.resource(configMap("watched", "other")).update();
            client.resource(configMap("watched", "other")).delete();
            for (String want : List.of("ADDED", "MODIFIED", "DELETED")) {
                assertEquals(want, events.poll(30, TimeUnit.SECONDS));
            }
        }
    }

    @Test // 20
    void wrongOptionsAreErrors() {
        Host host = Host.of(new ServerOptions().request(""));
        JsonNode before = host.call("GET", "/v1/servers", null);
        for (var test : Map.of(
                        "--bogus", new ServerOptions().flags("--bogus"),
                        "none.yaml", new ServerOptions().crds("none.yaml"),
                        "NoGate", new ServerOptions().featureGate("NoGate", true))
                .entrySet()) {
            var e = assertThrows(MiniapiException.class, () -> MiniapiServer.start(test.getValue()));
            assertContains(test.getKey(), e.getMessage());
        }
        assertEquals(before, host.call("GET", "/v1/servers", null));
    }
}
