package dev.miniapi.junit5;

import static dev.miniapi.junit5.Objects.assertContains;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.util.Config;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The official Kubernetes client, on a server that is given to the constructor. */
@ExtendWith(MiniapiExtension.class)
class OfficialClientTest {
    private final CoreV1Api core;

    OfficialClientTest(MiniapiServer server) throws IOException {
        core = new CoreV1Api(Config.fromConfig(server.kubeconfigFile().toString()));
    }

    @Test
    void createsAndReads() throws ApiException {
        V1ConfigMap configMap =
                new V1ConfigMap().metadata(new V1ObjectMeta().name("a")).putDataItem("color", "red");
        core.createNamespacedConfigMap("default", configMap).execute();
        assertEquals(
                "red",
                core.readNamespacedConfigMap("a", "default").execute().getData().get("color"));
        var e = assertThrows(
                ApiException.class,
                () -> core.createNamespacedConfigMap("default", configMap).execute());
        assertEquals(409, e.getCode());
        assertContains("configmaps \\\"a\\\" already exists", e.getResponseBody());
    }
}
