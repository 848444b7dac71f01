package dev.waybill.server.cli;

/** The exit codes; scripts rely on them. */
final class Exit {
    static final int OK = 0;
    static final int FAILED = 1;
    static final int USAGE = 2;
    static final int NOT_FOUND = 3;
    static final int CONFLICT = 4;
    /** An effect whose outcome nobody knows is in the way. */
    static final int UNRESOLVED = 5;
    static final int UNREACHABLE = 7;

    private Exit() {}

    static int ofProblem(int status, String code) {
        if (code.equals("EFFECT_UNRESOLVED")) {
            return UNRESOLVED;
        }
        return switch (status) {
            case 400, 413, 415 -> USAGE;
            case 404 -> NOT_FOUND;
            case 409 -> CONFLICT;
            case 502, 503, 504 -> UNREACHABLE;
            default -> FAILED;
        };
    }
}
