package dev.miniapi.junit5;

import static dev.miniapi.junit5.Objects.assertContains;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program, and the process that runs the servers. Numbers are those of the suite in clients/README.md. */
class HostTest {
    /** A process that starts a server, and waits to be killed. */
    static final class Waiting {
        public static void main(String[] args) throws IOException {
            MiniapiServer server = MiniapiServer.start(new ServerOptions());
            System.out.println(server.url());
            System.out.println(server.kubeconfigFile());
            System.in.read();
        }
    }

    @Test // 21
    void nothingIsLeftAfterKill() throws Exception {
        for (int i = 0; i < Integer.getInteger("kills", 1); i++) {
            String java =
                    Path.of(System.getProperty("java.home"), "bin", "java").toString();
            Process parent = new ProcessBuilder(
                            java, "-cp", System.getProperty("java.class.path"), Waiting.class.getName())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            URI url = URI.create(parent.inputReader().readLine());
            Path kubeconfig = Path.of(parent.inputReader().readLine());
            ProcessHandle host = parent.children().findFirst().orElseThrow();
            assertTrue(Files.exists(kubeconfig));
            new Socket(url.getHost(), url.getPort()).close();
            parent.destroyForcibly().waitFor();
            assertTimeoutPreemptively(Duration.ofSeconds(30), () -> {
                while (runs(host)) {
                    Thread.sleep(10);
                }
            });
            assertFalse(Files.exists(kubeconfig.getParent()));
            assertThrows(ConnectException.class, () -> new Socket(url.getHost(), url.getPort()).close());
        }
    }

    /** Reports whether a process runs. The zombie that stays in some containers has no command. */
    private static boolean runs(ProcessHandle process) {
        return process.isAlive() && process.info().command().isPresent();
    }

    @Test
    void serversWithOtherFeatureGatesHaveAnotherHost() {
        ServerOptions other = new ServerOptions().featureGate("MutatingAdmissionPolicy", false);
        try (var first = MiniapiServer.start(new ServerOptions());
                var same = MiniapiServer.start(new ServerOptions())) {
            long hosts = ProcessHandle.current().children().count();
            try (var second = MiniapiServer.start(other)) {
                assertEquals(hosts + 1, ProcessHandle.current().children().count());
                assertEquals(3, Set.of(first.url(), same.url(), second.url()).size());
            }
        }
    }

    @Test
    void programIsFoundInOrder(@TempDir Path folder) throws IOException {
        Path named = program(folder.resolve("named"));
        Path onPath = program(folder.resolve("bin/miniapi"));
        Map<String, String> environment =
                Map.of("PATH", onPath.getParent().toString(), "XDG_CACHE_HOME", folder + "/cache", "HOME", "" + folder);
        assertEquals(onPath, Program.find(environment, "1.2.3", ""));
        String cache = System.getProperty("os.name").startsWith("Mac") ? "Library/Caches" : "cache";
        Path cached = program(folder.resolve(cache + "/miniapi/fixture/v1.2.3/miniapi"));
        assertEquals(cached, Program.find(environment, "1.2.3", ""));
        assertEquals(onPath, Program.find(environment, "1.2.4", ""));
        assertEquals(
                named, Program.find(Map.of("MINIAPI", named.toString(), "PATH", "" + onPath.getParent()), "1.2.3", ""));
        var e = assertThrows(
                MiniapiException.class,
                () -> Program.find(Map.of("MINIAPI", folder + "/none", "PATH", "" + onPath.getParent()), "1.2.3", ""));
        assertContains("set $MINIAPI to the path of the program", e.getMessage());
        assertContains(folder + "/none", e.getMessage());
        e = assertThrows(MiniapiException.class, () -> Program.find(Map.of("PATH", "/none"), null, ""));
        assertContains("no miniapi program is at [/none/miniapi]", e.getMessage());
    }

    private static Path program(Path path) throws IOException {
        Files.createDirectories(path.getParent());
        Files.createFile(path);
        assertTrue(path.toFile().setExecutable(true));
        return path;
    }
}
