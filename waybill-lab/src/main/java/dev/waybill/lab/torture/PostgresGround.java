package dev.waybill.lab.torture;

import dev.waybill.test.FaultProxy;
import dev.waybill.test.PostgresCommitCut;
import dev.waybill.test.PostgresPair;
import dev.waybill.test.TestPostgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A primary with a standby; every node has a link of its own, which can be cut by bytes or at a COMMIT and leads to whoever is primary. */
final class PostgresGround implements Ground {
    private static final int DISK_MEBIBYTES = 512;

    /** One node's way to the database: first through the proxy that knows commits, then through the one that counts bytes. */
    record Link(int node, PostgresCommitCut commits, FaultProxy wire) {}

    private final PostgresPair pair;
    private final TestPostgres.Database first;
    private final List<Link> links = new ArrayList<>();
    private final FaultProxy witness;

    PostgresGround(int nodes, boolean synchronous, boolean smallDisks) {
        this.pair = PostgresPair.start(synchronous, smallDisks ? DISK_MEBIBYTES : 0);
        this.first = pair.primary().database();
        this.witness = FaultProxy.to(first.host(), first.port());
        for (int node = 1; node <= nodes; node++) {
            FaultProxy wire = FaultProxy.to(first.host(), first.port());
            links.add(new Link(node, PostgresCommitCut.before(first.through(wire.port())), wire));
        }
    }

    PostgresPair pair() {
        return pair;
    }

    List<Link> links() {
        return links;
    }

    /** Everybody finds the primary where it is now, as behind a virtual address. */
    void followPrimary() {
        int port = pair.primary().port();
        witness.retarget(first.host(), port);
        links.forEach(link -> link.wire().retarget(first.host(), port));
    }

    private TestPostgres.Database database() {
        return first.through(pair.primary().port());
    }

    @Override
    public String storeUrl(int node) {
        return links.get(node - 1).commits().database().waybillUrl();
    }

    @Override
    public String directUrl() {
        return database().waybillUrl();
    }

    @Override
    public Connection connect() throws SQLException {
        return database().connect();
    }

    @Override
    public List<String> witness() {
        TestPostgres.Database seen = first.through(witness.port());
        return List.of(seen.jdbcUrl() + "?connectTimeout=1&socketTimeout=1", seen.user(), seen.password());
    }

    @Override
    public List<String> claimHistory() {
        return List.of(
                """
                CREATE TABLE claim_history (
                  tenant_id text, instance_id uuid, claim_epoch bigint, claim_nonce uuid, claim_node uuid,
                  at timestamptz NOT NULL DEFAULT clock_timestamp())""",
                """
                CREATE FUNCTION note_claim() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                  INSERT INTO claim_history VALUES (NEW.tenant_id, NEW.id, NEW.claim_epoch, NEW.claim_nonce, NEW.claim_node);
                  RETURN NULL;
                END $$""",
                "CREATE TRIGGER claim_begun AFTER INSERT ON task_instances FOR EACH ROW EXECUTE FUNCTION note_claim()",
                """
                CREATE TRIGGER claim_given AFTER UPDATE OF claim_epoch, claim_nonce ON task_instances FOR EACH ROW
                  WHEN (NEW.claim_epoch <> OLD.claim_epoch OR NEW.claim_nonce <> OLD.claim_nonce) EXECUTE FUNCTION note_claim()""");
    }

    @Override
    public void close() {
        links.forEach(link -> {
            link.commits().close();
            link.wire().close();
        });
        witness.close();
        pair.close();
    }
}
