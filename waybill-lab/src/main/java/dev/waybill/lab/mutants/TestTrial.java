package dev.waybill.lab.mutants;

import java.io.PrintStream;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.CancellationToken;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.jspecify.annotations.Nullable;

/**
 * The main class of a child process that holds an engine, true or mutated, against test classes. For each it prints one line,
 * {@code TRIAL CLASS killed TEST: MESSAGE} at the first failure or {@code TRIAL CLASS green N tests}; all other output goes to standard
 * error. Children that the tests start have this process's class path, and with it the same engine.
 */
final class TestTrial {
    private TestTrial() {}

    /** @param arguments directory of the patched classes or {@code -}, their number, their names, test classes */
    public static void main(String[] arguments) throws ReflectiveOperationException {
        PrintStream out = System.out;
        System.setOut(System.err);
        int first = Patched.require(arguments);
        Launcher launcher = LauncherFactory.create();
        for (int i = first; i < arguments.length; i++) {
            out.println("TRIAL " + arguments[i] + " " + run(launcher, arguments[i]));
            out.flush();
        }
        // Threads of an engine that does not end are no reason to stay.
        Runtime.getRuntime().halt(0);
    }

    private static String run(Launcher launcher, String test) {
        int hash = test.indexOf('#');
        String method = hash < 0 ? null : test.substring(hash + 1);
        DiscoverySelector selector = DiscoverySelectors.selectClass("dev.waybill." + (hash < 0 ? test : test.substring(0, hash)));
        PostDiscoveryFilter only = descriptor -> FilterResult.includedIf(
                method == null || !(descriptor.getSource().orElse(null) instanceof MethodSource source) || source.getMethodName().equals(method));
        CancellationToken enough = CancellationToken.create();
        FirstFailure first = new FirstFailure(enough);
        launcher.execute(LauncherDiscoveryRequestBuilder.discoveryRequest()
                .selectors(selector)
                .filters(only)
                .forExecution()
                .listeners(first)
                .cancellationToken(enough)
                .build());
        return first.verdict();
    }

    private static final class FirstFailure implements TestExecutionListener {
        private final CancellationToken enough;
        private final AtomicInteger passed = new AtomicInteger();
        private volatile @Nullable String killed;

        FirstFailure(CancellationToken enough) {
            this.enough = enough;
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (result.getStatus() == TestExecutionResult.Status.FAILED) {
                if (killed == null) {
                    String why = result.getThrowable().map(Throwable::toString).orElse("failed");
                    killed = name(test) + ": " + why.strip().replaceAll("\\s+", " ");
                }
                enough.cancel();
            } else if (test.isTest() && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                passed.incrementAndGet();
            }
        }

        private static String name(TestIdentifier test) {
            return test.getSource().orElse(null) instanceof MethodSource method ? method.getMethodName() : test.getDisplayName();
        }

        String verdict() {
            if (killed != null) {
                return "killed " + killed;
            }
            // A name that selects nothing would let every mutant live.
            return "green " + passed.get() + " tests";
        }
    }
}
