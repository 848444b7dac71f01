package dev.waybill.lab.torture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** What the engines of a cell stand on: a real database, and every link to it. */
interface Ground extends AutoCloseable {
    /** The store as one node reaches it. */
    String storeUrl(int node);

    /** The store past every proxy, for the checker. */
    String directUrl();

    /** With SQL of its own, past every engine and every proxy. */
    Connection connect() throws SQLException;

    /** JDBC URL, user and password for the provider's own look-ups. */
    List<String> witness();

    /** What the store needs so that every claim there ever was is known in the end; {@code waybill-check} reads it. */
    List<String> claimHistory();

    /** Once the schema is there. */
    default void recordClaims() throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String sql : claimHistory()) {
                statement.execute(sql);
            }
        }
    }

    @Override
    void close();
}
