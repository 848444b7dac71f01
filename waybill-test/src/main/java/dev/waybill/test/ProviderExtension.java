package dev.waybill.test;

import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * {@code @RegisterExtension static final ProviderExtension acme = new ProviderExtension();}: one {@link FakeProvider} per test class, reset
 * before each test. Not for classes whose own tests run in parallel: they would count each other's requests.
 */
public final class ProviderExtension implements BeforeAllCallback, BeforeEachCallback, AfterAllCallback {
    private final UnaryOperator<FakeProvider.Builder> setUp;
    private @Nullable FakeProvider provider;

    public ProviderExtension() {
        this(builder -> builder);
    }

    /** @param setUp for example {@code FakeProvider.Builder::honouringKeys} */
    public ProviderExtension(UnaryOperator<FakeProvider.Builder> setUp) {
        this.setUp = setUp;
    }

    /** The running provider. */
    public FakeProvider get() {
        if (provider == null) {
            throw new IllegalStateException("no provider yet: declare the extension in a static field with @RegisterExtension");
        }
        return provider;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        provider = setUp.apply(FakeProvider.builder()).start();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        get().reset();
    }

    @Override
    public void afterAll(ExtensionContext context) {
        if (provider != null) {
            provider.close();
        }
    }
}
