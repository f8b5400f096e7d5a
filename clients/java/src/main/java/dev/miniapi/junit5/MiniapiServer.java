package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A Kubernetes API server for tests. It stops when it is closed, and at the latest with this process.
 *
 * <p>An object is named RESOURCE/NAME or RESOURCE/NAMESPACE/NAME, such as deployments.apps/default/web. A webhook is
 * named KIND/NAME of its configuration, or KIND/NAME/WEBHOOK, and a policy ValidatingAdmissionPolicy/NAME.
 */
public final class MiniapiServer extends ProtocolServer implements AutoCloseable {
    private final Host host;
    private final ServerOptions options;
    private final WebhookServer webhooks;
    private final String path;

    /** The names of the faults that were injected and not removed. */
    private final List<String> faults = new ArrayList<>();

    private Object client;

    private MiniapiServer(ServerOptions options, WebhookServer webhooks, Host host, JsonNode description) {
        super(description);
        this.options = options;
        this.webhooks = webhooks;
        this.host = host;
        path = "/v1/servers/" + description.path("id").asText();
    }

    /** Starts a server, and returns when it is ready. */
    public static MiniapiServer start(ServerOptions options) {
        WebhookServer webhooks = new WebhookServer(options.handlers);
        try {
            JsonNode request = options.request(webhooks.address());
            Host host = Host.of(request);
            return new MiniapiServer(options, webhooks, host, host.call("POST", "/v1/servers", request));
        } catch (RuntimeException e) {
            webhooks.close();
            throw e;
        }
    }

    /**
     * Returns a client of fabric8 with all rights. It is closed with the server.
     *
     * @param type {@code KubernetesClient.class}
     */
    public synchronized <T> T client(Class<T> type) {
        if (client == null) {
            client = Fabric8.client(kubeconfig());
        }
        return type.cast(client);
    }

    /** Returns the path of a kubeconfig. It has contexts of the admin, which is the current one, and of the users. */
    public Path kubeconfigFile() {
        return Path.of(description.path("kubeconfig").asText());
    }

    /** Returns the content of the kubeconfig. */
    public String kubeconfig() {
        try {
            return Files.readString(kubeconfigFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Brings back the objects and the handlers of the start, and removes the faults that were injected. */
    public void reset() {
        List.copyOf(faults).forEach(this::remove);
        webhooks.handlers.keySet().retainAll(options.handlers.keySet());
        webhooks.handlers.putAll(options.handlers);
        call("POST", "/reset", null);
    }

    /** Copies all objects. */
    public Snapshot snapshot() {
        return new Snapshot(call("POST", "/snapshots", null).path("id").asText());
    }

    /** Brings back the objects of a snapshot. */
    public void restore(Snapshot snapshot) {
        call("POST", "/snapshots/" + snapshot.id + "/restore", null);
    }

    /** Drops a snapshot. */
    public void drop(Snapshot snapshot) {
        call("DELETE", "/snapshots/" + snapshot.id, null);
    }

    /**
     * A copy of all objects of a server at one moment.
     *
     * @param id the name of the snapshot
     */
    public record Snapshot(String id) {}

    /**
     * Applies the objects in files or folders. What they configure is in force when the method returns.
     *
     * @return the warnings of the server
     */
    public List<String> apply(Path... paths) {
        return apply(
                "paths",
                Stream.of(paths).map(p -> p.toAbsolutePath().toString()).toList());
    }

    /**
     * Applies the objects in a text of YAML or JSON, with any number of documents.
     *
     * @return the warnings of the server
     */
    public List<String> apply(String text) {
        return apply("text", text);
    }

    private List<String> apply(String field, Object value) {
        JsonNode applied = call("POST", "/manifests", Map.of(field, value));
        return applied.path("warnings").valueStream().map(JsonNode::asText).toList();
    }

    /** Makes a client certificate for a user, and returns it in a kubeconfig. */
    public String addUser(String name, String... groups) {
        JsonNode issued = call("POST", "/users", Map.of("name", name, "groups", groups));
        return issued.path("kubeconfig").asText();
    }

    /** Answers the admission reviews for a path with a function, until the next reset. */
    public void admission(String path, Function<AdmissionRequest, AdmissionResponse> handler) {
        webhooks.handlers.put(path, WebhookServer.of(handler));
    }

    /** Converts custom resources with a function, until the next reset. */
    public void conversion(String path, BiFunction<ObjectNode, String, ObjectNode> handler) {
        webhooks.handlers.put(path, WebhookServer.of(handler));
    }

    /** Writes each call of a handler, with its answer, to a golden file in a folder. */
    public void record(Path folder) {
        call("PUT", "/recording", Map.of("folder", folder.toAbsolutePath().toString()));
    }

    /**
     * Injects a fault, such as {@code Map.of("verbs", List.of("update"), "requests", 3, "conflict", true)}. The page
     * docs/faults.md has the keys.
     *
     * @return the fault, which ends when it is closed, and at the next reset
     */
    public Fault inject(Map<String, ?> fault) {
        JsonNode injected = call("POST", "/faults", Map.of("faults", List.of(fault)));
        String name = injected.at("/faults/0/name").asText();
        faults.add(name);
        return () -> remove(name);
    }

    private void remove(String fault) {
        if (faults.remove(fault)) {
            call("DELETE", "/faults/" + encode(fault), null);
        }
    }

    /** A fault that the server injects. */
    @FunctionalInterface
    public interface Fault extends AutoCloseable {
        /** Removes the fault. */
        @Override
        void close();
    }

    /** Returns the faults that the server injects, with the numbers of requests that have met them. */
    public JsonNode faults() {
        return call("GET", "/faults", null).path("faults");
    }

    /** Says for each webhook of a configuration why it was called for the last request for an object, or wasn't. */
    public List<Why> why(String webhook, String object) {
        JsonNode why = call("GET", "/why?webhook=" + encode(webhook) + "&" + query(object), null);
        return why.path("answers").valueStream().map(Why::of).toList();
    }

    /** Fails unless all webhooks of a configuration were called for the last request for an object. */
    public void assertCalled(String webhook, String object) {
        check(webhook, object, true);
    }

    /** Fails if a webhook of a configuration was called for the last request for an object. */
    public void assertNotCalled(String webhook, String object) {
        check(webhook, object, false);
    }

    private void check(String webhook, String object, boolean called) {
        for (Why why : why(webhook, object)) {
            if (why.called() != called || why.reason().equals("NotRecorded")) {
                String want = called ? "want a call: " : "want a request without a call: ";
                throw new AssertionError(want + why.sentence() + "\n" + timeline(object));
            }
        }
    }

    /** Returns the recorded requests for an object, with all decisions of admission. */
    public JsonNode requests(String object) {
        return call("GET", "/requests?" + query(object), null).path("requests");
    }

    /** Returns the recorded requests for an object as text for people. */
    public String timeline(String object) {
        return host.text("GET", path + "/requests?output=text&" + query(object), null);
    }

    /** Returns the lines of the server's log since the last call. */
    public List<String> log() {
        return host.text("GET", path + "/events?follow=false", null)
                .lines()
                .map(event -> Host.parse(event).path("log").asText())
                .filter(line -> !line.isEmpty())
                .toList();
    }

    /** Stops the server, and removes its files. */
    @Override
    public void close() {
        try {
            if (client != null) {
                Fabric8.close(client);
            }
            call("DELETE", "", null);
        } finally {
            webhooks.close();
        }
    }

    private JsonNode call(String method, String operation, Object body) {
        return host.call(method, path + operation, body == null ? null : Host.JSON.<ObjectNode>valueToTree(body));
    }

    /** Returns the name of an object as the query of a request. */
    private static String query(String object) {
        String[] parts = object.split("/");
        if (parts.length < 2 || parts.length > 3) {
            throw new IllegalArgumentException(
                    "object \"" + object + "\": must be RESOURCE/NAME or RESOURCE/NAMESPACE/NAME");
        }
        String namespace = parts.length == 3 ? "&namespace=" + encode(parts[1]) : "";
        return "resource=" + encode(parts[0]) + namespace + "&name=" + encode(parts[parts.length - 1]);
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }
}
