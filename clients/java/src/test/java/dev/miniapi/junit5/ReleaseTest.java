package dev.miniapi.junit5;

import static dev.miniapi.junit5.Objects.assertContains;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The download of the program. */
class ReleaseTest {
    private static final String EXECUTABLE =
            System.getProperty("os.name").startsWith("Windows") ? "miniapi.exe" : "miniapi";

    private final byte[] good = pack(EXECUTABLE, "released");
    private final List<HttpServer> servers = new ArrayList<>();
    private final CountDownLatch end = new CountDownLatch(1);
    private ExecutorService threads;
    private String archive;

    @TempDir
    private Path folder;

    @BeforeEach
    void setUp() throws Exception {
        threads = Executors.newCachedThreadPool();
        archive = release("", new byte[0]).archive();
    }

    @AfterEach
    void tearDown() {
        end.countDown();
        servers.forEach(server -> server.stop(0));
        threads.shutdown();
    }

    /** Returns an archive with a file. */
    private static byte[] pack(String file, String content) {
        var packed = new ByteArrayOutputStream();
        try (var files = new GZIPOutputStream(packed)) {
            for (var entry : List.of(Map.entry("README.md", "read me"), Map.entry(file, content))) {
                byte[] text = entry.getValue().getBytes(StandardCharsets.UTF_8);
                byte[] header = "%-100s%-24s%011o %-20s0"
                        .formatted(entry.getKey(), "", text.length, "")
                        .replace(' ', '\0')
                        .getBytes(StandardCharsets.UTF_8);
                files.write(Arrays.copyOf(header, 512));
                files.write(Arrays.copyOf(text, (text.length + 511) / 512 * 512));
            }
            files.write(new byte[1024]);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return packed.toByteArray();
    }

    private static String sum(byte[] archive) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(archive));
    }

    /** Returns the lines of checksums.txt for an archive. */
    private static String checksums(byte[] archive) throws Exception {
        String sum = sum(archive);
        return Stream.of("linux", "darwin", "windows")
                .flatMap(system -> Stream.of("amd64", "arm64").map(processor -> system + "_" + processor))
                .map(platform -> sum + "  miniapi_1.2.3_" + platform + ".tar.gz\n")
                .collect(Collectors.joining());
    }

    private static Release release(String place, byte[] archive) throws Exception {
        return Release.of(Map.of("MINIAPI_RELEASES", place), "1.2.3", checksums(archive))
                .orElseThrow();
    }

    /** A function that answers a request. */
    private interface Answer {
        void send(HttpExchange exchange) throws Exception;
    }

    /** Serves the archive by a function, and returns the URL of the server. */
    private String serve(Answer answer) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/v1.2.3/" + archive, exchange -> {
            try (exchange) {
                answer.send(exchange);
            } catch (Exception e) {
                throw new IOException(e);
            }
        });
        server.setExecutor(threads);
        server.start();
        servers.add(server);
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private static Answer sends(int status, byte[] body) {
        return exchange -> {
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
        };
    }

    /** Announces the archive, sends its first half, and waits. */
    private Answer sendsHalf(CountDownLatch sent, CountDownLatch until) {
        return exchange -> {
            exchange.sendResponseHeaders(200, good.length);
            exchange.getResponseBody().write(good, 0, good.length / 2);
            exchange.getResponseBody().flush();
            sent.countDown();
            until.await();
        };
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve("cache/miniapi/fixture/v1.2.3"))) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    /** Returns the program, which is downloaded if it isn't in the folder. */
    private Path find(String place, byte[] archive) throws Exception {
        Map<String, String> environment = Map.of(
                "MINIAPI_RELEASES", place, "XDG_CACHE_HOME", folder + "/cache", "LOCALAPPDATA", folder + "/cache");
        return Program.find(environment, "1.2.3", checksums(archive));
    }

    @Test
    void releaseIsDownloaded() throws Exception {
        String mirror = serve(sends(200, good));
        Path releases = folder.resolve("releases");
        Files.createDirectories(releases.resolve("v1.2.3"));
        Files.write(releases.resolve("v1.2.3").resolve(archive), good);
        List<String> logins = new ArrayList<>(); // a password isn't for the server that the mirror redirects to
        String elsewhere = serve(exchange -> {
            logins.addAll(exchange.getRequestHeaders().getOrDefault("Authorization", List.of("none")));
            sends(200, good).send(exchange);
        });
        String redirects = serve(exchange -> {
            logins.addAll(exchange.getRequestHeaders().getOrDefault("Authorization", List.of("none")));
            exchange.getResponseHeaders().set("Location", elsewhere + exchange.getRequestURI());
            exchange.sendResponseHeaders(302, -1);
        });
        for (String place : List.of(
                mirror,
                mirror + "/",
                redirects.replace("//", "//user:secret@"),
                releases.toString(),
                releases.resolve("v1.2.3").toString())) {
            Path program = find(place, good);
            assertEquals("released", Files.readString(program), place);
            assertTrue(Files.isExecutable(program), place);
            assertEquals(List.of("lock", EXECUTABLE), files(), place);
            assertEquals(program, find("releases", good), "the cache has it");
            Files.delete(program);
        }
        assertEquals(List.of("Basic dXNlcjpzZWNyZXQ=", "none"), logins);
    }

    private void assertFails(String place, byte[] archive, String... wants) throws Exception {
        var e = assertThrows(MiniapiException.class, () -> find(place, archive));
        for (String want : wants) {
            assertContains(want, e.getMessage());
        }
        assertContains("set $MINIAPI_RELEASES to another place of miniapi's releases", e.getMessage());
        assertContains("or $MINIAPI to the path of a miniapi of version v1.2.3", e.getMessage());
        assertFalse(e.getMessage().contains("secret"), e.getMessage());
        assertEquals(List.of("lock"), files(), place);
    }

    @Test
    void errorsSayWhatToDo() throws Exception {
        byte[] empty = pack("LICENSE", "");
        byte[] broken = "program".getBytes(StandardCharsets.UTF_8);
        String mirror = serve(sends(200, good));
        String address = "/v1.2.3/" + archive;
        assertFails(mirror, empty, mirror + address + " has the SHA-256 sum " + sum(good), "v1.2.3 is " + sum(empty));
        assertFails(serve(sends(200, "<html>".getBytes(StandardCharsets.UTF_8))), good, "has the SHA-256 sum");
        assertFails(
                serve(sendsHalf(end, new CountDownLatch(0))),
                good,
                address + ", after " + good.length / 2 + " bytes: ",
                "it has " + good.length + " bytes");
        assertFails(serve(sends(404, new byte[0])), good, address, "the server answers 404 Not Found");
        assertFails(serve(sends(206, good)), good, "the server answers 206");
        assertFails(serve(sends(200, empty)), empty, "the archive has no file " + EXECUTABLE);
        assertFails(serve(sends(200, broken)), broken, "unpacking " + archive);
        assertFails("http://127.0.0.1:1", good, "http://127.0.0.1:1" + address, "ConnectException");
        assertFails("http://[", good, "http://[");
        assertFails(folder.toString(), good, address, "FileNotFoundException");
        assertFails("releases", good, "$MINIAPI_RELEASES is \"releases\": the value must be an http or https URL");
        assertFails("ftp://user:secret@127.0.0.1", good, "ftp://user:xxxxx@127.0.0.1", "the value must be");
        assertFails(mirror.replace("//", "//user:secret@"), empty, "http://user:xxxxx@127.0.0.1");
    }

    @Test
    void someHaveNoRelease() throws Exception {
        String sums = checksums(good);
        assertEquals(Optional.empty(), Release.of(Map.of(), "1.2.3", Release.checksums()), "of a checkout");
        assertEquals(Optional.empty(), Release.of(Map.of(), "1.2.4", sums), "another version");
        assertEquals(Optional.empty(), Release.of(Map.of("MINIAPI_RELEASES", "off"), "1.2.3", sums));
        assertEquals(Release.PUBLISHED, release("", good).place());
        assertEquals(Duration.ofSeconds(30), release("", good).patience());
    }

    @Test
    void downloadWithoutDataEnds() throws Exception {
        try (var silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            for (String place : List.of(
                    serve(sendsHalf(new CountDownLatch(1), end)), "http://127.0.0.1:" + silent.getLocalPort())) {
                Release release =
                        new Release("v1.2.3", archive, release("", good).sum(), place, Duration.ofMillis(10));
                var e = assertThrows(
                        MiniapiException.class,
                        () -> release.install(folder.resolve("cache/miniapi/fixture/v1.2.3/miniapi")));
                assertContains("no data for 0.01s", e.getMessage());
                assertEquals(List.of("lock"), files());
            }
        }
    }

    /** A process that installs the program, or a copy of the classes in another class loader. */
    static final class Installing {
        public static void main(String[] args) {
            new Release("v1.2.3", args[1], args[2], args[3], Duration.ofSeconds(30)).install(Path.of(args[0]));
        }
    }

    private String[] arguments(String place) throws Exception {
        Path program = folder.resolve("cache/miniapi/fixture/v1.2.3").resolve(EXECUTABLE);
        return new String[] {program.toString(), archive, sum(good), place};
    }

    private Process start(String place, String... options) throws Exception {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Installing.class.getName()));
        command.addAll(List.of(arguments(place)));
        return new ProcessBuilder(command).inheritIO().start();
    }

    private Void installInOtherClasses(String place) throws Exception {
        List<URL> path = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            path.add(Path.of(entry).toUri().toURL());
        }
        try (var loader = new URLClassLoader(path.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            var main = loader.loadClass(Installing.class.getName()).getMethod("main", String[].class);
            main.setAccessible(true);
            main.invoke(null, (Object) arguments(place));
        }
        return null;
    }

    @Test
    void manyDownloadOnce() throws Exception {
        AtomicInteger gets = new AtomicInteger();
        String mirror = serve(exchange -> {
            gets.incrementAndGet();
            sends(200, good).send(exchange);
        });
        List<Process> processes = new ArrayList<>();
        List<Future<Void>> copies = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            processes.add(start(mirror));
            copies.add(threads.submit(() -> installInOtherClasses(mirror)));
        }
        for (int i = 0; i < 4; i++) {
            assertEquals(0, processes.get(i).waitFor());
            copies.get(i).get();
        }
        assertEquals(1, gets.get());
        assertEquals(List.of("lock", EXECUTABLE), files());
    }

    // The mirror is behind the proxy of the system properties.
    @Test
    void killedDownloadIsBegunAgain() throws Exception {
        CountDownLatch halfway = new CountDownLatch(1);
        String proxy = serve(sendsHalf(halfway, end));
        String port = proxy.substring(proxy.lastIndexOf(':') + 1);
        Process process = start("http://releases.example", "-Dhttp.proxyHost=127.0.0.1", "-Dhttp.proxyPort=" + port);
        assertTrue(halfway.await(30, TimeUnit.SECONDS));
        process.destroyForcibly().waitFor();
        assertEquals(List.of("lock", "unfinished"), files());
        find(serve(sends(200, good)), good);
        assertEquals(List.of("lock", EXECUTABLE), files());
    }
}
