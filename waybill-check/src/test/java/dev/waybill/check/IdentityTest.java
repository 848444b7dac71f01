package dev.waybill.check;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class IdentityTest {

    /** Worked out once by the engine's own ReceiptId. */
    @Test
    void anIdIsWhatTheEngineMakesOfTheSamePlace() {
        assertThat(Identity.idOf("0191d3a4-7c1e-7b5a-9c3d-2f6e8a1b4c5d", "0191d3a4-7c1e-7b5a-8c3d-2f6e8a1b4c5e", "items[1]/chärge", 3))
                .isEqualTo("ef1fc658-fe4c-80eb-a24d-9db235a1fc66");
    }
}
