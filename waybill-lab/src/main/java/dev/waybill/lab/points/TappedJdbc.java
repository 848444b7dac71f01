package dev.waybill.lab.points;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/** JDBC connections whose every call that talks to the database is a boundary of a {@link Machine}. */
final class TappedJdbc {
    private static final Set<String> TALKS = Set.of("commit", "rollback", "setSavepoint", "releaseSavepoint");

    private final Machine machine;
    private final Verbs verbs;
    private final boolean postgres;

    TappedJdbc(Machine machine, Verbs verbs, boolean postgres) {
        this.machine = machine;
        this.verbs = verbs;
        this.postgres = postgres;
    }

    Connection tap(Connection raw) {
        return proxy(Connection.class, raw, (method, args) -> {
            String name = method.getName();
            if (name.equals("prepareStatement")) {
                PreparedStatement statement = (PreparedStatement) machine.alive(() -> invoke(raw, method, args));
                return statement(PreparedStatement.class, raw, statement, (String) args[0]);
            }
            if (name.equals("createStatement")) {
                return statement(Statement.class, raw, (Statement) invoke(raw, method, args), null);
            }
            boolean ends = name.equals("setAutoCommit") && Boolean.TRUE.equals(args[0]) && !raw.isClosed() && !raw.getAutoCommit();
            if (TALKS.contains(name) || ends) {
                boolean toSavepoint = name.equals("rollback") && args != null && args[0] instanceof Savepoint;
                return talk(raw, toSavepoint ? "ROLLBACK_TO" : name.toUpperCase(Locale.ROOT), () -> invoke(raw, method, args));
            }
            // Closing asks the server for nothing, and the dead may be tidied away.
            return name.equals("close") ? invoke(raw, method, args) : machine.alive(() -> invoke(raw, method, args));
        });
    }

    private <T extends Statement> T statement(Class<T> type, Connection connection, T raw, @Nullable String prepared) {
        return proxy(type, raw, (method, args) -> {
            if (method.getName().startsWith("execute")) {
                String sql = prepared != null ? prepared : String.valueOf(args[0]);
                return talk(connection, keyword(sql), () -> invoke(raw, method, args));
            }
            return invoke(raw, method, args);
        });
    }

    /** The statement's first word, or two where one says little. */
    private static String keyword(String sql) {
        if (sql.contains("'plan_cache_mode'")) {
            return "START_UP";
        }
        String[] words = sql.strip().split("[\\s(;]+", 3);
        boolean alone = words.length == 1 || Set.of("WITH", "COMMIT", "SELECT", "INSERT", "UPDATE", "DELETE").contains(words[0].toUpperCase(Locale.ROOT));
        return (alone ? words[0] : words[0] + "_" + words[1]).toUpperCase(Locale.ROOT);
    }

    private Object talk(Connection raw, String what, Machine.Deed<Object, Throwing> deed) throws Throwable {
        String point = verbs.statement(what);
        if (point == null) {
            return machine.alive(deed);
        }
        if (machine.at(point + ":before")) {
            throw broken(raw, point);
        }
        Object answer;
        try {
            answer = machine.alive(deed);
        } catch (Throwing e) {
            if (machine.isDead()) {
                throw machine.rest();
            }
            throw e;
        }
        if (machine.at(point + ":after")) {
            throw broken(raw, point);
        }
        return answer;
    }

    /** SQLite has no connection to lose: there a statement fails, and the engine may use it again. */
    private SQLException broken(Connection raw, String point) throws SQLException {
        if (postgres) {
            raw.abort(Runnable::run);
            return new SQLException("the lab broke the connection at " + point, "08006");
        }
        return new SQLiteException("the lab failed " + point, SQLiteErrorCode.SQLITE_FULL);
    }

    /** Whatever the driver threw. */
    static final class Throwing extends Exception {
        private static final long serialVersionUID = 1L;

        private final transient Throwable thrown;

        Throwing(Throwable thrown) {
            super(null, thrown, false, false);
            this.thrown = thrown;
        }
    }

    /** Null where the driver says null: only passed on. */
    @SuppressWarnings("NullAway")
    private static Object invoke(Object raw, Method method, Object @Nullable [] args) throws Throwing {
        try {
            return method.invoke(raw, args);
        } catch (InvocationTargetException e) {
            throw new Throwing(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    @FunctionalInterface
    private interface Answer {
        Object to(Method method, Object[] args) throws Throwable;
    }

    private static <T> T proxy(Class<T> type, T raw, Answer answer) {
        InvocationHandler handler = (self, method, args) -> {
            try {
                return answer.to(method, args);
            } catch (Throwing e) {
                throw e.thrown;
            }
        };
        return type.cast(Proxy.newProxyInstance(TappedJdbc.class.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
