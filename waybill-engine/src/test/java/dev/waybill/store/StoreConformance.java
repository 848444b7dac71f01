package dev.waybill.store;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;

/**
 * What every store must do, one sentence each. A store passes by a subclass that opens a {@link StoreLab} on a fresh database;
 * JUnit runs the inherited groups.
 */
public abstract class StoreConformance {
    private StoreLab lab;

    protected abstract StoreLab open() throws Exception;

    @BeforeEach
    void openLab() throws Exception {
        lab = open();
    }

    @AfterEach
    void closeLab() {
        if (lab != null) {
            lab.close();
        }
    }

    @Nested
    class Admission extends AdmissionSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Claims extends ClaimSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Commits extends CommitSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Holds extends HoldSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Invariants extends InvariantSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Repeats extends RepeatSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Leases extends LeaseSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class OutsideMoves extends OutsideSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Storage extends StorageSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Reads extends QuerySentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Sequences extends SequenceSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }

    @Nested
    class Webhooks extends WebhookSentences {
        @Override
        StoreLab lab() {
            return lab;
        }
    }
}
