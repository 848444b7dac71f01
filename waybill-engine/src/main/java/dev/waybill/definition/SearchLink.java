package dev.waybill.definition;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where an operator looks an effect up at the provider: an address with the places {@code {{ key }}}, {@code {{ effect_id }}},
 * {@code {{ provider_receipt_id }}} and {@code {{ labels.NAME }}}. What is put in is always URL-encoded, and nothing else can be put in:
 * a link is shown to people and must hold no secret.
 */
public record SearchLink(String template) {
    private static final Pattern PLACE = Pattern.compile("\\{\\{\\s*(key|effect_id|provider_receipt_id|labels\\.[\\w-]{1,64})\\s*}}");
    private static final Pattern ORIGIN = Pattern.compile("https?://[^/?#{}@\\s]+([/?#].*)?");

    /** What is wrong with it, or null. */
    static @Nullable String fault(String template) {
        String bare = PLACE.matcher(template).replaceAll("x");
        if (bare.contains("{{") || bare.contains("}}")) {
            return "a search link takes {{ key }}, {{ effect_id }}, {{ provider_receipt_id }} and {{ labels.NAME }}; never a secret";
        }
        return ORIGIN.matcher(template).matches() && bare.chars().noneMatch(c -> c <= ' ' || c > '~')
                ? null
                : "a search link is an http(s) address whose host is written out, without user or password";
    }

    /** @return null while something it needs is not known */
    public @Nullable String of(Function<String, @Nullable String> values) {
        Matcher places = PLACE.matcher(template);
        StringBuilder link = new StringBuilder();
        while (places.find()) {
            String value = values.apply(places.group(1));
            if (value == null || value.isEmpty()) {
                return null;
            }
            places.appendReplacement(link, Matcher.quoteReplacement(URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20")));
        }
        return places.appendTail(link).toString();
    }
}
