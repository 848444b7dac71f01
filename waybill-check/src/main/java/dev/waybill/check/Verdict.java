package dev.waybill.check;

import dev.waybill.check.History.Settings;
import java.time.Duration;
import java.util.List;
import tools.jackson.databind.JsonNode;

/**
 * What the checker says of a history that is at hand and in no file; the lines have the forms that the files have.
 *
 * @param violated names of the properties that do not hold
 * @param lookedAt how many things all properties together looked at
 * @param text     the report with the shortest counterexamples; empty when everything holds
 */
public record Verdict(List<String> violated, int lookedAt, String text) {

    /**
     * @param dumps         header and rows of each; at least one, the earliest first
     * @param skew          how far the clocks of provider, client and store may differ
     * @param uniqueContent every application of this workload asks for something else
     */
    public static Verdict of(
            List<? extends JsonNode> ledger,
            List<? extends List<? extends JsonNode>> dumps,
            List<? extends JsonNode> client,
            List<? extends JsonNode> faults,
            Duration skew,
            boolean uniqueContent) {
        Report report = Report.of(new History(
                Json.as(Rows.Line.class, ledger), dumps.stream().map(Dump::new).toList(), Json.as(Rows.Call.class, client),
                Json.as(Rows.Fault.class, faults),
                new Settings(Settings.DEFAULT.visible(), Settings.DEFAULT.calm(), skew, uniqueContent)));
        return new Verdict(
                report.violated(), report.results().stream().mapToInt(Report.Result::lookedAt).sum(), report.clean() ? "" : report.text());
    }

    public boolean clean() {
        return violated.isEmpty();
    }
}
