package dev.miniapi.junit5;

import static dev.miniapi.junit5.Objects.configMap;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fabric8.kubernetes.client.KubernetesClient;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The lives of servers. */
class MiniapiExtensionTest {
    /** The tests of a class, and of the classes in it, share a server. */
    @Nested
    @ExtendWith(MiniapiExtension.class)
    class Shared {
        private static String url;

        @BeforeAll
        static void remember(MiniapiServer server) {
            url = server.url();
        }

        @RepeatedTest(2)
        void isResetBeforeEachTest(KubernetesClient client, MiniapiServer server) {
            assertEquals(url, server.url());
            assertNull(Objects.read(client, "a"));
            client.resource(configMap("a", "none")).create();
        }

        @Nested
        class Inner {
            @Test
            void hasTheSameServer(MiniapiServer server) {
                assertEquals(url, server.url());
            }
        }
    }

    /** Each test has a server of its own, which stops after the test. */
    @Nested
    class Own {
        private static MiniapiServer last;

        @RegisterExtension
        final MiniapiExtension miniapi = new MiniapiExtension();

        @RepeatedTest(2)
        void isNew(KubernetesClient client, MiniapiServer server) {
            client.resource(configMap("a", "none")).create();
            if (last != null) {
                assertThrows(MiniapiException.class, last::reset);
            }
            last = server;
        }
    }
}
