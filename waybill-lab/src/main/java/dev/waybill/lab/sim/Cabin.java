package dev.waybill.lab.sim;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A simulator with classes of its own. Two simulations in one process would meet at the locks of their libraries' caches: a thread that
 * waits there is out of its scheduler's sight, and the same seed gives another history.
 */
final class Cabin implements Simulator {
    private final Method report;
    private final Method hash;

    Cabin() {
        URLClassLoader loader = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader());
        try {
            Class<?> simulation = loader.loadClass(Simulation.class.getName());
            report = simulation.getMethod("report", long.class, boolean.class, List.class, boolean.class);
            hash = simulation.getMethod("hash", long.class, boolean.class, List.class);
            loader.loadClass(Silence.class.getName()).getMethod("engine").invoke(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the class path holds no simulator", e);
        }
    }

    private static URL[] classPath() {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            try {
                urls.add(new File(entry).toURI().toURL());
            } catch (MalformedURLException e) {
                throw new IllegalStateException(e);
            }
        }
        return urls.toArray(URL[]::new);
    }

    @Override
    @SuppressWarnings("unchecked")
    public SimResult run(SimOptions options) {
        return SimResult.of(
                options,
                (Map<String, Object>) call(report, options.seed(), options.liveness(), options.faults(), options.charted()));
    }

    @Override
    public long hash(SimOptions options) {
        return (Long) call(hash, options.seed(), options.liveness(), options.faults());
    }

    private static Object call(Method method, @Nullable Object... arguments) {
        try {
            return method.invoke(null, arguments);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
