package dev.waybill.recorder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/** What the recorder must know of the machine it is on: mapped pages speak for a dead process only within one boot of one kernel. */
final class Machine {
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    /**
     * File systems of this kernel alone. On one that others can write or cache too (NFS, SMB, 9p, FUSE), neither the lock nor the page
     * cache proves anything.
     */
    private static final Set<String> LOCAL = Set.of("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "overlay");

    private Machine() {}

    /** Empty where there is none: not Linux. */
    static Optional<UUID> boot() {
        try {
            return Optional.of(UUID.fromString(Files.readString(BOOT_ID).strip()));
        } catch (IOException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    static boolean isLocal(Path folder) throws IOException {
        return LOCAL.contains(Files.getFileStore(folder).type());
    }
}
