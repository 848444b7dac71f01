package dev.waybill.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.server.api.ServerLab;
import dev.waybill.store.Queries.Change;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A person is called about an unknown effect once for each threshold that it passed, whoever looks and how often. */
class EscalatorTest {
    @TempDir
    Path directory;

    private static Escalator escalator(ServerLab lab, Duration later, List<Duration> ages, Map<String, BigDecimal> amounts) {
        InstantSource clock = () -> InstantSource.system().instant().plus(later);
        return new Escalator(
                lab.server.engine().queries(), lab.server.engine().escalations().orElseThrow(), new ServerConfig.Escalation(ages, amounts), clock);
    }

    private static List<String> reasons(ServerLab lab) {
        return lab.server.engine().queries().changes(null, null, 100).stream()
                .filter(change -> change.type().equals("effect.escalated"))
                .map(Change::payload)
                .map(payload -> dev.waybill.json.Json.parse(payload).path("reason").asString())
                .toList();
    }

    @Test
    void ageAndMoneyAtRiskEscalateOnce() {
        try (ServerLab lab = new ServerLab(directory, Map.of())) {
            lab.unknownEffect();
            lab.unknownEffect();
            List<Duration> ages = List.of(Duration.ofMinutes(30));
            Map<String, BigDecimal> amounts = Map.of("EUR", new BigDecimal("25.00"), "USD", BigDecimal.ONE);
            escalator(lab, Duration.ZERO, ages, Map.of("EUR", new BigDecimal("25.01"))).look();
            assertThat(reasons(lab)).isEmpty();

            escalator(lab, Duration.ZERO, ages, amounts).look();
            assertThat(reasons(lab)).containsExactly("money at risk reached 25.00 EUR");
            escalator(lab, Duration.ofMinutes(31), ages, amounts).look();
            escalator(lab, Duration.ofMinutes(99), ages, amounts).look();
            assertThat(reasons(lab)).containsExactly("money at risk reached 25.00 EUR", "unknown for PT30M", "unknown for PT30M");
        }
    }
}
