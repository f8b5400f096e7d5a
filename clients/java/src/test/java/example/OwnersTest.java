package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.miniapi.junit5.AdmissionRequest;
import dev.miniapi.junit5.AdmissionResponse;
import dev.miniapi.junit5.MiniapiExtension;
import dev.miniapi.junit5.ServerOptions;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OwnersTest {
    @RegisterExtension
    static final MiniapiExtension MINIAPI = new MiniapiExtension(new ServerOptions()
            .webhookManifests("../testdata/webhooks.yaml")
            .admission("/validate", OwnersTest::review));

    static AdmissionResponse review(AdmissionRequest request) {
        ConfigMap configMap = request.object(ConfigMap.class);
        return configMap.getData().containsKey("owner")
                ? AdmissionResponse.allowed()
                : AdmissionResponse.denied("set an owner");
    }

    @Test
    void configMapsNeedAnOwner(KubernetesClient client) {
        client.resource(configMap("owned", Map.of("owner", "me"))).create();
        ConfigMap orphan = configMap("orphan", Map.of());
        var refused = assertThrows(
                KubernetesClientException.class, () -> client.resource(orphan).create());
        assertEquals(
                "admission webhook \"validate.example.com\" denied the request: set an owner",
                refused.getStatus().getMessage());
    }

    private static ConfigMap configMap(String name, Map<String, String> data) {
        return new ConfigMapBuilder()
                .withNewMetadata()
                .withNamespace("default")
                .withName(name)
                .addToLabels("webhook", "validate")
                .endMetadata()
                .withData(data)
                .build();
    }
}
