package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * The request of an AdmissionReview.
 *
 * @param json the request as it was sent
 */
public record AdmissionRequest(JsonNode json) {
    /** Returns CREATE, UPDATE, DELETE or CONNECT. */
    public String operation() {
        return json.path("operation").asText();
    }

    /** Returns the name of the object, which is empty if the server generates it. */
    public String name() {
        return json.path("name").asText();
    }

    /** Reports whether nothing is stored. */
    public boolean dryRun() {
        return json.path("dryRun").asBoolean();
    }

    /** Returns the object, which is a null node at a deletion. */
    public JsonNode object() {
        return json.path("object");
    }

    /** Returns the object before an update or a deletion. */
    public JsonNode oldObject() {
        return json.path("oldObject");
    }

    /** Returns the object as a model of fabric8, such as a ConfigMap. */
    public <T> T object(Class<T> type) {
        return Fabric8.decode(object(), type);
    }

    /** Returns the object before an update or a deletion as a model. */
    public <T> T oldObject(Class<T> type) {
        return Fabric8.decode(oldObject(), type);
    }
}
