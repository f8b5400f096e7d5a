package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * The reason why a webhook was called for a request, or a policy was evaluated, or wasn't.
 *
 * @param called whether the webhook was called
 * @param reason the kind of the reason, such as ObjectSelector, which is empty for a call
 * @param sentence the answer as a sentence
 */
public record Why(boolean called, String reason, String sentence) {
    static Why of(JsonNode answer) {
        return new Why(
                answer.path("called").asBoolean() && !answer.path("evaluated").asBoolean(),
                answer.path("verdict").path("reason").asText(),
                answer.path("sentence").asText());
    }
}
