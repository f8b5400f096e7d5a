package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * The options of a server, which are those of the control protocol. Without any, a server has the defaults of {@code
 * miniapi serve}, but runs no controllers. Relative paths start at the working directory of the tests. Objects are models
 * of fabric8, or maps.
 */
public final class ServerOptions extends ProtocolOptions<ServerOptions> {
    /** The functions that answer webhooks, by their paths. */
    final Map<String, Function<JsonNode, ObjectNode>> handlers = new HashMap<>();

    /** Makes options without any set. */
    public ServerOptions() {}

    @Override
    ServerOptions self() {
        return this;
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
        setup.withObject("/handler").withArray("services").addPOJO(Map.of("namespace", namespace, "name", name));
        return this;
    }

    /**
     * Returns the body of the request that starts a server whose handlers have an address, unless the options have
     * another one.
     */
    ObjectNode request(String address) {
        ObjectNode request = json.deepCopy();
        ObjectNode handler = request.withObject("/setup/handler");
        handler.put("address", handler.path("address").asText(address));
        return request;
    }
}
