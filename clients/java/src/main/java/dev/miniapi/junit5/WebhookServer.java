package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * The handlers of the webhooks of a server, at a path of an HTTP server on a loopback port, which answers
 * AdmissionReviews and ConversionReviews for all servers of this process. The host adds TLS.
 */
final class WebhookServer implements AutoCloseable {
    private static HttpServer http;

    /** The functions that return the response for the request of a review, by their paths. */
    final Map<String, Function<JsonNode, ObjectNode>> handlers;

    private final HttpContext context;

    WebhookServer(Map<String, Function<JsonNode, ObjectNode>> handlers) {
        this.handlers = new ConcurrentSkipListMap<>(handlers);
        context = http().createContext("/" + UUID.randomUUID(), this::answer);
    }

    /** Returns the HTTP server. The first call starts it. */
    private static synchronized HttpServer http() {
        if (http == null) {
            try {
                http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            } catch (IOException e) {
                throw new MiniapiException("serving webhooks: " + e.getMessage(), e);
            }
            ExecutorService threads = Executors.newCachedThreadPool(WebhookServer::daemon);
            http.setExecutor(threads);
            // The thread that accepts connections is a daemon only if the thread that starts it is one.
            CompletableFuture.runAsync(http::start, threads).join();
        }
        return http;
    }

    private static Thread daemon(Runnable run) {
        Thread thread = new Thread(run, "miniapi-webhooks");
        thread.setDaemon(true);
        return thread;
    }

    String address() {
        return "http://127.0.0.1:" + http().getAddress().getPort() + context.getPath();
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
        String called = exchange.getRequestURI().getPath();
        String path = called.substring(context.getPath().length());
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
        http().removeContext(context);
    }
}
