package dev.miniapi.junit5;

import static dev.miniapi.junit5.Objects.assertFails;
import static dev.miniapi.junit5.Objects.configMap;

import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Faults. Numbers are those of the suite in clients/README.md. */
@ExtendWith(MiniapiExtension.class)
class FaultTest {
    private static final Map<String, ?> THIRD_UPDATE_CONFLICTS =
            Map.of("verbs", List.of("update"), "resources", List.of("configmaps"), "requests", "3-", "conflict", true);

    @BeforeEach
    void create(KubernetesClient client) {
        client.resource(configMap("a", "none")).create();
    }

    private static void update(KubernetesClient client, String value) {
        client.resource(configMap("a", value)).update();
    }

    @Test // 13, 14
    void thirdUpdateConflicts(KubernetesClient client, MiniapiServer server) {
        MiniapiServer.Fault fault = server.inject(THIRD_UPDATE_CONFLICTS);
        update(client, "1");
        update(client, "2");
        assertFails(409, "the object has been modified", () -> update(client, "3"));
        fault.close();
        update(client, "4");
    }

    @Test
    void resetRemovesFaults(KubernetesClient client, MiniapiServer server) {
        MiniapiServer.Fault fault = server.inject(Map.of("verbs", List.of("create"), "status", 503));
        assertFails(503, "", () -> client.resource(configMap("b", "none")).create());
        server.reset();
        client.resource(configMap("b", "none")).create();
        fault.close();
    }
}
