package dev.waybill.lab.program;

import dev.waybill.lab.program.Script.Decision;

/** What the provider does with one request, and what a person decides when nobody was told. */
public enum Reaction {
    /** Books and says so. */
    OK(200, true, Decision.NONE),
    /** A definite no: 400, 402, 404, 409 or 422 with a body. */
    DECLINED(402, false, Decision.NONE),
    /** 200 with {@code ok: false}; {@code success_when} calls it a no. */
    REFUSED_IN_BODY(200, false, Decision.NONE),
    /** Books and says so in a shape that {@code output_schema} refuses. */
    BAD_OUTPUT(200, true, Decision.NONE),
    /** 429: asks for another attempt. */
    BUSY(429, false, Decision.NONE),
    /** 503, which the step maps to not_applied. */
    UNAVAILABLE(503, false, Decision.NONE),
    /** The connection is refused: nothing arrives. */
    NOT_SENT(0, false, Decision.NONE),
    /** Books, and its answer is cut in the body: a person supplies the output. */
    BODY_CUT(200, true, Decision.SUPPLY),
    /** Books and never answers: a person finds it in the provider's record. */
    LOST_BOOKED(0, true, Decision.COMMIT),
    /** Books and says 500: a person verifies. */
    ERROR_BOOKED(500, true, Decision.VERIFY),
    /** Does nothing and never answers: a person has it sent again. */
    LOST(0, false, Decision.RESEND),
    /** Does nothing and says 504: a person writes it off, and the step fails. */
    LOST_WRITTEN_OFF(504, false, Decision.FAIL),
    /** Does nothing and never answers, and nobody ever looks. */
    LOST_LEFT(0, false, Decision.LEAVE),
    /** Books and never answers, and nobody ever looks. */
    LOST_LEFT_BOOKED(0, true, Decision.LEAVE);

    private final int status;
    private final boolean books;
    private final Decision decision;

    Reaction(int status, boolean books, Decision decision) {
        this.status = status;
        this.books = books;
        this.decision = decision;
    }

    /** HTTP status; 0 = the client never sees one. */
    public int status() {
        return status;
    }

    public boolean books() {
        return books;
    }

    /** What a person does about it; NONE when the answer says it all. */
    public Decision decision() {
        return decision;
    }

    /** The client cannot know what became of it. */
    public boolean unknown() {
        return decision != Decision.NONE && decision != Decision.SUPPLY;
    }

    /** Another attempt may follow by itself. */
    public boolean again() {
        return this == BUSY || this == UNAVAILABLE || this == NOT_SENT;
    }
}
