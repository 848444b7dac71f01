package dev.waybill.operate;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One block of a run with what became of it.
 *
 * @param type   step, parallel, router, try_catch, loop, for_each, iteration
 * @param status pending, running, waiting, completed, failed, skipped
 * @param detail for people: reason it waits, the error, the route taken; or null
 */
public record TreeNode(
        String id,
        String path,
        String type,
        String status,
        @Nullable JsonNode output,
        @Nullable JsonNode detail,
        @Nullable Instant due,
        List<TreeNode> children) {}
