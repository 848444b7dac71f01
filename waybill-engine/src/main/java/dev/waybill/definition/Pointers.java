package dev.waybill.definition;

/** JSON pointers (RFC 6901). */
final class Pointers {
    private Pointers() {}

    static String escape(String name) {
        return name.indexOf('~') < 0 && name.indexOf('/') < 0 ? name : name.replace("~", "~0").replace("/", "~1");
    }
}
