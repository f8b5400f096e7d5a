package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The options of a server, which are those of the control protocol. Without any, a server has the defaults of {@code
 * miniapi serve}, but runs no controllers. Relative paths start at the working directory of the tests.
 */
public final class ServerOptions {
    private final ObjectNode json = Host.JSON.createObjectNode();
    private final ObjectNode setup = json.putObject("setup");
    private final Map<String, WebhookServer.Handler> handlers = new HashMap<>();

    /** Makes options without any set. */
    public ServerOptions() {}

    /** Installs the CustomResourceDefinitions in files, globs or folders, before all other objects. */
    public ServerOptions crds(String... paths) {
        return add(setup, "crds", paths);
    }

    /** Applies the objects in files, globs or folders, in their order. */
    public ServerOptions manifests(String... paths) {
        return add(setup, "manifests", paths);
    }

    /** Applies objects after the manifests: models of fabric8, or maps. */
    public ServerOptions objects(Object... objects) {
        for (Object object : objects) {
            setup.withArray("objects").add(Fabric8.encode(object));
        }
        return this;
    }

    /**
     * Installs the webhook configurations in files, globs or folders after all other objects. The server calls the
     * handlers of these options in place of their services.
     */
    public ServerOptions webhookManifests(String... paths) {
        return add(setup, "webhookManifests", paths);
    }

    /**
     * Answers the admission reviews for a path with a function. The function runs on another thread, and an exception
     * makes the call of the webhook fail with its text.
     */
    public ServerOptions admission(String path, Function<AdmissionRequest, AdmissionResponse> handler) {
        handlers.put(path, WebhookServer.of(handler));
        return this;
    }

    /**
     * Converts custom resources with a function, which gets an object and the apiVersion of the result, such as
     * example.com/v1. The function may change the object and return it.
     */
    public ServerOptions conversion(String path, BiFunction<ObjectNode, String, ObjectNode> handler) {
        handlers.put(path, WebhookServer.of(handler));
        return this;
    }

    /**
     * Passes the calls of webhooks on to a plain HTTP server of the tests, such as {@code http://127.0.0.1:8081}, in
     * place of functions.
     */
    public ServerOptions webhookAddress(String address) {
        setup.withObject("/handler").put("address", address);
        return this;
    }

    /** Names a service in place of which the server calls the handlers, for configurations that are written later. */
    public ServerOptions webhookService(String namespace, String name) {
        setup.withObject("/handler")
                .withArray("services")
                .addObject()
                .put("namespace", namespace)
                .put("name", name);
        return this;
    }

    /** Adds a user with a client certificate, and with a context in the kubeconfig. */
    public ServerOptions user(String name, String... groups) {
        return add(setup.withArray("users").addObject().put("name", name), "groups", groups);
    }

    /** Records the decisions of admission, which {@link MiniapiServer#why} and the assertions need. */
    public ServerOptions trace() {
        setup.put("trace", true);
        return this;
    }

    /** Sets a feature gate. */
    public ServerOptions featureGate(String name, boolean on) {
        json.withObject("/featureGates").put(name, on);
        return this;
    }

    /** Makes the server behave as an earlier version of Kubernetes, such as 1.35. */
    public ServerOptions emulatedVersion(String version) {
        json.put("emulatedVersion", version);
        return this;
    }

    /** Serves a group version such as resource.k8s.io/v1beta1, or doesn't. */
    public ServerOptions runtimeConfig(String groupVersion, boolean served) {
        json.withObject("/runtimeConfig").put(groupVersion, String.valueOf(served));
        return this;
    }

    /** Enables admission plugins that are off by default. */
    public ServerOptions enablePlugins(String... names) {
        return add(json, "enablePlugins", names);
    }

    /** Disables admission plugins that are on by default. */
    public ServerOptions disablePlugins(String... names) {
        return add(json, "disablePlugins", names);
    }

    /** Runs controllers in the server. The name * stands for all, and -NAME excludes one. */
    public ServerOptions controllers(String... names) {
        return add(json, "controllers", names);
    }

    /** Runs workloads on a number of nodes, whose pods pretend to be ready: controllers, a scheduler and kubelets. */
    public ServerOptions workloads(int nodes) {
        json.withObject("/workloads").put("nodes", nodes);
        return this;
    }

    /**
     * Lets pods and nodes go through stages. A value is the absolute path of a file with kwok's Stages, or the name of a
     * set of stages, such as crash-loop:app=web.
     */
    public ServerOptions stages(String... values) {
        return add(json.withObject("/workloads"), "stages", values);
    }

    /**
     * Runs workloads, and runs the containers of pods with the annotation {@code miniapi.dev/command} as processes of this
     * machine, as the user of the test.
     */
    public ServerOptions runPods() {
        json.withObject("/workloads").put("runPods", true);
        return this;
    }

    /** Sets other flags of {@code miniapi serve}, as --name=value. */
    public ServerOptions flags(String... flags) {
        return add(json, "flags", flags);
    }

    private ServerOptions add(ObjectNode to, String field, String... values) {
        Stream.of(values).forEach(to.withArray(field)::add);
        return this;
    }

    /**
     * Returns the body of the request that starts a server whose handlers have an address, unless the options have
     * another one.
     */
    JsonNode request(String address) {
        ObjectNode request = json.deepCopy();
        request.withObject("/setup/handler").putIfAbsent("address", TextNode.valueOf(address));
        return request;
    }

    Map<String, WebhookServer.Handler> handlers() {
        return handlers;
    }
}
