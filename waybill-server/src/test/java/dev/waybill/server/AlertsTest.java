package dev.waybill.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.server.api.ServerLab;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** An alert on a metric that nobody exports never fires. */
class AlertsTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    @TempDir
    Path directory;

    @Test
    void everyMetricOfTheAlertsIsExportedAndEveryAlertLeadsToAPlaceOfTheRunbook() throws Exception {
        String rules = Files.readString(ROOT.resolve("ops/alerts.yml"));
        String runbook = Files.readString(ROOT.resolve("docs/runbook.md"));
        TreeSet<String> named = Pattern.compile("waybill_[a-z_]+").matcher(rules).results().map(it -> it.group()).collect(Collectors.toCollection(TreeSet::new));
        assertThat(named).hasSizeGreaterThan(7);
        try (ServerLab lab = new ServerLab(directory, Map.of())) {
            lab.unknownEffect();
            String metrics = lab.http().get("/metrics").text();
            assertThat(named).allSatisfy(metric -> assertThat(metrics).containsPattern("(?m)^" + metric + "[ {]"));
            assertThat(metrics).containsPattern("waybill_effects_money_at_risk\\{currency=\"EUR\",destination=\"[^\"]+\"} 12\\.5")
                    .contains("waybill_nodes_alive 1.0");
        }
        var anchors = runbook.lines().filter(line -> line.startsWith("## "))
                .map(line -> line.substring(3).toLowerCase().replaceAll("[^a-z ]", "").replace(' ', '-')).toList();
        new YAMLMapper().readTree(rules).path("groups").get(0).path("rules").forEach(rule -> assertThat(anchors)
                .as(rule.path("alert").asString()).contains(rule.path("annotations").path("runbook").asString().replace("docs/runbook.md#", "")));
    }
}
