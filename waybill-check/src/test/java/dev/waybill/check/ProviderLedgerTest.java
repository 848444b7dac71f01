package dev.waybill.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.test.FakeProvider;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The ledger that the real fake provider writes is the one this module reads. */
class ProviderLedgerTest {

    @Test
    void aChargeIsReadAsDeliveryApplicationAndAnswer() throws IOException, InterruptedException {
        try (FakeProvider provider = FakeProvider.start();
                HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(provider.uri("/charges"))
                    .header("Waybill-Effect-Id", "e1")
                    .header("Idempotency-Key", "k1")
                    .POST(HttpRequest.BodyPublishers.ofString("{\"amount\":5}"))
                    .build();
            String body = client.send(request, HttpResponse.BodyHandlers.ofString()).body();
            List<Rows.Line> lines = Json.as(Rows.Line.class, Json.lines(provider.ledgerPath()));
            assertThat(lines).extracting(Rows.Line::kind).containsExactly("delivery", "apply", "answer");
            assertThat(lines).extracting(Rows.Line::effectId).containsOnly("e1");
            assertThat(lines).extracting(Rows.Line::idempotencyKey).containsOnly("k1");
            assertThat(lines).extracting(Rows.Line::content).doesNotContainNull();
            assertThat(lines.getLast().answer()).isNotNull();
            assertThat(lines.getLast().answer().path("status").asInt()).isEqualTo(201);
            assertThat(lines.getLast().answer().path("body").asString()).isEqualTo(body);
        }
    }
}
