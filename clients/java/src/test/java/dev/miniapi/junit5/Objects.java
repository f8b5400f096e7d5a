package dev.miniapi.junit5;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceList;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.MixedOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import java.util.Map;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.function.Executable;

/** The objects of the tests. */
final class Objects {
    static final String WIDGETS = "../testdata/widgets.yaml";
    static final String WEBHOOKS = "../testdata/webhooks.yaml";

    private Objects() {}

    /** Returns a config map in the namespace default, for which the webhook with this label is called. */
    static ConfigMap configMap(String name, String webhook) {
        return new ConfigMapBuilder()
                .withNewMetadata()
                .withNamespace("default")
                .withName(name)
                .addToLabels("webhook", webhook)
                .endMetadata()
                .build();
    }

    static ConfigMap read(KubernetesClient client, String name) {
        return client.configMaps().inNamespace("default").withName(name).get();
    }

    static GenericKubernetesResource widget(String name, String version, Map<String, ?> spec) {
        return new GenericKubernetesResourceBuilder()
                .withApiVersion("example.com/" + version)
                .withKind("Widget")
                .withNewMetadata()
                .withNamespace("default")
                .withName(name)
                .endMetadata()
                .addToAdditionalProperties("spec", spec)
                .build();
    }

    static MixedOperation<GenericKubernetesResource, GenericKubernetesResourceList, Resource<GenericKubernetesResource>>
            widgets(KubernetesClient client, String version) {
        return client.genericKubernetesResources(new ResourceDefinitionContext.Builder()
                .withGroup("example.com")
                .withVersion(version)
                .withKind("Widget")
                .withPlural("widgets")
                .withNamespaced(true)
                .build());
    }

    /** Returns a client with a kubeconfig. */
    static KubernetesClient client(String kubeconfig) {
        return new KubernetesClientBuilder()
                .withConfig(Config.fromKubeconfig(kubeconfig))
                .build();
    }

    /** Checks that a request fails with a code and a part of a message. */
    static void assertFails(int code, String part, Executable request) {
        var e = Assertions.assertThrows(KubernetesClientException.class, request);
        Assertions.assertEquals(code, e.getCode(), e.getMessage());
        assertContains(part, e.getMessage());
    }

    static void assertContains(String part, String text) {
        Assertions.assertTrue(text.contains(part), () -> "want \"" + part + "\" in: " + text);
    }
}
