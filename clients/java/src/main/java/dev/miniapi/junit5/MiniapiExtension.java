package dev.miniapi.junit5;

import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives tests a server. In a static field with {@code @RegisterExtension}, or with {@code @ExtendWith}, the tests of a
 * class share a server, which is reset before each test. In a field that isn't static, each test has a server of its
 * own.
 *
 * <p>Parameters of tests, of lifecycle methods and of constructors may be the {@link MiniapiServer}, or a {@code
 * KubernetesClient} of fabric8 with all rights.
 */
public final class MiniapiExtension implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {
    private final ServerOptions options;

    /** Makes an extension for servers without options. */
    public MiniapiExtension() {
        this(new ServerOptions());
    }

    /** Makes an extension for servers with options. */
    public MiniapiExtension(ServerOptions options) {
        this.options = options;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        startIfNeeded(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        if (!startIfNeeded(context)) {
            server(context).reset();
        }
    }

    /** Starts a server for a class or a test, which closes it at its end, unless a surrounding class has one. */
    private boolean startIfNeeded(ExtensionContext context) {
        boolean needed = server(context) == null;
        if (needed) {
            store(context).put(this, MiniapiServer.start(options));
        }
        return needed;
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == MiniapiServer.class || Fabric8.isClient(type);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == MiniapiServer.class ? server(context) : server(context).client(type);
    }

    private MiniapiServer server(ExtensionContext context) {
        return store(context).get(this, MiniapiServer.class);
    }

    private static Store store(ExtensionContext context) {
        return context.getStore(Namespace.create(MiniapiExtension.class));
    }
}
