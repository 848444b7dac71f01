package dev.waybill.store.postgres;

import dev.waybill.store.Durability;
import dev.waybill.store.jdbc.Sql;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** What can make a COMMIT lie, read from the session that commits. */
final class PgDurability {
    private PgDurability() {}

    static Durability read(Connection committer) throws SQLException {
        List<String> weaknesses = new ArrayList<>();
        List<String> warnings = new ArrayList<>();
        if (setting(committer, "fsync").equals("off")) {
            weaknesses.add("fsync is off: a crash of the machine loses or corrupts what was acknowledged");
        }
        if (setting(committer, "full_page_writes").equals("off")) {
            weaknesses.add("full_page_writes is off: a crash of the machine can leave torn pages");
        }
        String synchronous = setting(committer, "synchronous_commit");
        if (synchronous.equals("off")) {
            weaknesses.add("synchronous_commit is off: a crash loses commits that were acknowledged");
        }
        String configured = Sql.first(
                        committer,
                        "SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'",
                        row -> row.getString(1))
                .orElse(synchronous);
        if (!configured.equals(synchronous)) {
            warnings.add("synchronous_commit is " + configured + " for this role or database: Waybill sets it to " + synchronous
                    + " for its own transactions, other programs' commits may be lost");
        }
        if (asynchronousStandby(committer)) {
            warnings.add("a standby follows asynchronously: a failover to it can lose the newest commits, dispatched effects among them");
        }
        return new Durability(List.copyOf(weaknesses), List.copyOf(warnings));
    }

    /** Names of standbys are visible to monitoring roles only; their number and, here, the absence of any synchronous one to all. */
    private static boolean asynchronousStandby(Connection connection) throws SQLException {
        return Sql.first(
                        connection,
                        """
                        SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state IS DISTINCT FROM 'sync' AND sync_state IS DISTINCT FROM 'quorum')
                           AND current_setting('synchronous_standby_names') = ''
                        """,
                        row -> row.getBoolean(1))
                .orElse(false);
    }

    private static String setting(Connection connection, String name) throws SQLException {
        return Sql.first(connection, "SELECT current_setting(?)", row -> row.getString(1), name).orElse("");
    }

    /** System identifier and timeline; the timeline of the WAL file being written is readable without privileges, the identifier may not be. */
    static String historyId(Connection connection) throws SQLException {
        return Sql.first(
                        connection,
                        """
                        SELECT CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
                                    THEN (SELECT system_identifier::text FROM pg_control_system()) ELSE '' END
                               || '/' ||
                               CASE WHEN has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE') AND NOT pg_is_in_recovery()
                                    THEN ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int::text ELSE '' END
                        """,
                        row -> row.getString(1))
                .orElse("");
    }
}
