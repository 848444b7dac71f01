package dev.waybill.lab.points;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Reads {@link Ground.Left}. */
final class Lefts {
    private Lefts() {}

    static Ground.Left read(Connection connection, String due) throws SQLException {
        String sql = "SELECT count(claim_node), coalesce(sum(CASE WHEN claim_node IS NULL AND " + due
                + " THEN 1 ELSE 0 END), 0) FROM task_instances WHERE state NOT IN ('completed', 'failed', 'cancelled')";
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return new Ground.Left(row.getInt(1), row.getInt(2));
        }
    }
}
