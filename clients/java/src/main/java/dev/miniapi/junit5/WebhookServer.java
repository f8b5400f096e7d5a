package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiFunction;
import java.util.function.Function;

/** An HTTP server on a loopback port, which answers AdmissionReviews and ConversionReviews. The host adds TLS. */
final class WebhookServer implements AutoCloseable {
    /** The functions that return the response for the request of a review, by their paths. */
    final Map<String, Function<JsonNode, ObjectNode>> handlers;

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool(WebhookServer::daemon);

    WebhookServer(Map<String, Function<JsonNode, ObjectNode>> handlers) {
        this.handlers = new ConcurrentSkipListMap<>(handlers);
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/", this::answer);
            server.setExecutor(threads);
        } catch (IOException e) {
            throw new MiniapiException("serving webhooks: " + e.getMessage(), e);
        }
        // The thread that accepts connections is a daemon only if the thread that starts it is one.
        CompletableFuture.runAsync(server::start, threads).join();
    }

    private static Thread daemon(Runnable run) {
        Thread thread = new Thread(run, "miniapi-webhooks");
        thread.setDaemon(true);
        return thread;
    }

    String address() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    static Function<JsonNode, ObjectNode> of(Function<AdmissionRequest, AdmissionResponse> handler) {
        return request -> Objects.requireNonNull(
                        handler.apply(new AdmissionRequest(request)), "the handler has returned null")
                .json();
    }

    static Function<JsonNode, ObjectNode> of(BiFunction<ObjectNode, String, ObjectNode> handler) {
        return request -> {
            ObjectNode response = Host.JSON.createObjectNode();
            ArrayNode converted = response.putArray("convertedObjects");
            for (JsonNode object : request.path("objects")) {
                converted.add(handler.apply(
                        (ObjectNode) object, request.path("desiredAPIVersion").asText()));
            }
            response.putObject("result").put("status", "Success");
            return response;
        };
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        try {
            ObjectNode review = (ObjectNode) Host.JSON.readTree(exchange.getRequestBody());
            ObjectNode response = handlers.getOrDefault(path, this::missing).apply(review.path("request"));
            review.set("response", response.set("uid", review.path("request").path("uid")));
            review.remove("request");
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            send(exchange, 200, review.toString());
        } catch (Throwable e) { // whatever it is, the test must learn of it
            send(exchange, 500, "the handler of " + path + " has thrown " + e);
        }
    }

    private ObjectNode missing(JsonNode request) {
        throw new NoSuchElementException("the test has only handlers of " + handlers.keySet());
    }

    private static void send(HttpExchange exchange, int status, String body) throws IOException {
        try (exchange) {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            // The server writes headers and body apart. Only the end of the connection sends the body at once.
            exchange.getResponseHeaders().set("Connection", "close");
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdown();
    }
}
