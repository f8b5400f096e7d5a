package dev.miniapi.junit5;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A process that runs servers: {@code miniapi host}. It ends with this process, which holds the other end of its
 * standard input.
 */
final class Host {
    static final JsonMapper JSON = new JsonMapper();

    /** The hosts by the settings that all servers of a process share. */
    private static final Map<List<JsonNode>, Host> HOSTS = new HashMap<>();

    private static final HttpClient HTTP = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY)
            .build();

    private final Process process;
    private final JsonNode hello;

    /** Returns the host for a server with these options. It is started if it doesn't run yet. */
    static synchronized Host of(JsonNode options) {
        List<JsonNode> settings = List.of(options.path("featureGates"), options.path("emulatedVersion"));
        return HOSTS.compute(settings, (key, host) -> host != null && host.process.isAlive() ? host : new Host());
    }

    private Host() {
        String program = Program.find(
                        System.getenv(), Host.class.getPackage().getImplementationVersion(), Release.checksums())
                .toString();
        try {
            process = new ProcessBuilder(program, "host")
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            hello = JSON.readTree(
                    Objects.requireNonNullElse(process.inputReader().readLine(), ""));
        } catch (IOException e) {
            throw new MiniapiException("starting " + program + " host: " + e.getMessage(), e);
        }
        if (!hello.path("protocol").asText().equals("v1")) {
            process.destroy();
            throw new MiniapiException(
                    program + " host has answered \"" + hello + "\": this client needs a miniapi with protocol v1",
                    null);
        }
    }

    /**
     * Makes a request with a JSON body, which may be null, and returns the answer, which is a missing node if it is
     * empty.
     */
    JsonNode call(String method, String path, JsonNode body) {
        return parse(text(method, path, body));
    }

    /** Makes a request, and returns the answer as text. */
    String text(String method, String path, JsonNode body) {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create(hello.path("address").asText() + path))
                .header("Authorization", "Bearer " + hello.path("token").asText())
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body.toString()))
                .build();
        try {
            HttpResponse<String> response = HTTP.send(request, BodyHandlers.ofString());
            if (response.statusCode() >= 400) {
                throw new MiniapiException(
                        parse(response.body()).path("message").asText(), null);
            }
            return response.body();
        } catch (IOException e) {
            throw new MiniapiException(method + " " + path + " to " + process + ": " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MiniapiException(method + " " + path + ": " + e, e);
        }
    }

    static JsonNode parse(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }
}
