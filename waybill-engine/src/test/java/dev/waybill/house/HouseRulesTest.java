package dev.waybill.house;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** ARCHITECTURE.md's import order and the rule about what comes in through the door. */
class HouseRulesTest {
    private static final JavaClasses ENGINE =
            new ClassFileImporter().withImportOption(new ImportOption.DoNotIncludeTests()).importPackages("dev.waybill");

    @Test
    void lowerRoomsNeverSeeHigherOnes() {
        layeredArchitecture()
                .consideringOnlyDependenciesInAnyPackage("dev.waybill..")
                .layer("model").definedBy("dev.waybill.model")
                .layer("json").definedBy("dev.waybill.json")
                .layer("definition").definedBy("dev.waybill.definition")
                .layer("store").definedBy("dev.waybill.store..")
                .layer("transport").definedBy("dev.waybill.transport")
                .layer("recorder").definedBy("dev.waybill.recorder")
                .layer("handler").definedBy("dev.waybill.handler")
                .layer("engine").definedBy("dev.waybill.engine")
                .layer("operate").definedBy("dev.waybill.operate")
                .layer("facade").definedBy("dev.waybill")
                .whereLayer("facade").mayOnlyBeAccessedByLayers("engine")
                .whereLayer("operate").mayOnlyBeAccessedByLayers("facade")
                .whereLayer("engine").mayOnlyBeAccessedByLayers("operate", "facade")
                .whereLayer("handler").mayOnlyBeAccessedByLayers("engine", "operate", "facade")
                .whereLayer("transport").mayOnlyBeAccessedByLayers("handler", "engine", "facade")
                .whereLayer("recorder").mayOnlyBeAccessedByLayers("engine", "facade")
                .whereLayer("store").mayOnlyBeAccessedByLayers("engine", "operate", "facade")
                .whereLayer("definition").mayOnlyBeAccessedByLayers("handler", "engine", "operate", "facade")
                .check(ENGINE);
    }

    @Test
    void onlyTheEnginesOptionsAreSeenFromBelowTheFacade() {
        noClasses()
                .that().resideInAnyPackage("dev.waybill.engine", "dev.waybill.store..", "dev.waybill.handler", "dev.waybill.transport")
                .should().dependOnClassesThat().haveFullyQualifiedName("dev.waybill.Waybill")
                .check(ENGINE);
    }

    @Test
    void clockAndIdsComeInThroughTheDoor() {
        noClasses().should().callMethod(Instant.class, "now").check(ENGINE);
        noClasses().should().callMethod(System.class, "currentTimeMillis").check(ENGINE);
        noClasses().should().callMethod(UUID.class, "randomUUID").check(ENGINE);
    }

    @Test
    void theStoreKnowsNothingOfBlocksOrHttp() {
        noClasses()
                .that().resideInAnyPackage("dev.waybill.store..")
                .should().dependOnClassesThat().resideInAnyPackage("dev.waybill.definition", "dev.waybill.handler", "dev.waybill.transport")
                .check(ENGINE);
    }
}
