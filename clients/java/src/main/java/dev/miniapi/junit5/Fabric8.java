package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import org.junit.platform.commons.support.ReflectionSupport;

/** The client and the models of fabric8, which a project may have. */
final class Fabric8 {
    private static final String CLIENT = "io.fabric8.kubernetes.client.KubernetesClient";

    private Fabric8() {}

    private static boolean isPresent() {
        return ReflectionSupport.tryToLoadClass(CLIENT).toOptional().isPresent();
    }

    static boolean isClient(Class<?> type) {
        return type.getName().equals(CLIENT);
    }

    /** Returns a KubernetesClient. It reports errors of the server at once, and doesn't try again. */
    static Object client(String kubeconfig) {
        Config config = new ConfigBuilder(Config.fromKubeconfig(kubeconfig))
                .withRequestRetryBackoffLimit(0)
                .build();
        return new KubernetesClientBuilder().withConfig(config).build();
    }

    static void close(Object client) {
        ((KubernetesClient) client).close();
    }

    static JsonNode encode(Object object) {
        return isPresent() ? Host.parse(Serialization.asJson(object)) : Host.JSON.valueToTree(object);
    }

    static <T> T decode(JsonNode json, Class<T> type) {
        return isPresent() ? Serialization.unmarshal(json.toString(), type) : Host.JSON.convertValue(json, type);
    }
}
