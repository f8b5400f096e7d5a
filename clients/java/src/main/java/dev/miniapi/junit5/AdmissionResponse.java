package dev.miniapi.junit5;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;

/**
 * The response of an admission webhook.
 *
 * @param json the response as it is sent
 */
public record AdmissionResponse(ObjectNode json) {
    /** Admits the request. */
    public static AdmissionResponse allowed() {
        return new AdmissionResponse(Host.JSON.createObjectNode().put("allowed", true));
    }

    /** Refuses the request with a message and the code 403. */
    public static AdmissionResponse denied(String message) {
        ObjectNode json = Host.JSON.createObjectNode().put("allowed", false);
        json.putObject("status").put("message", message).put("code", 403).put("reason", "Forbidden");
        return new AdmissionResponse(json);
    }

    /** Admits the request with changes of the object. */
    public static AdmissionResponse patched(Patch... operations) {
        byte[] patch = Host.JSON.valueToTree(operations).toString().getBytes(StandardCharsets.UTF_8);
        AdmissionResponse response = allowed();
        response.json.put("patchType", "JSONPatch").put("patch", patch);
        return response;
    }

    /** Adds a warning for the client. */
    public AdmissionResponse warning(String text) {
        json.withArray("warnings").add(text);
        return this;
    }

    /**
     * An operation of a JSON patch (RFC 6902). In paths, "~1" stands for a slash.
     *
     * @param op the operation
     * @param path the place of the change
     * @param value the new value, which Jackson encodes
     */
    public record Patch(String op, String path, Object value) {
        /** Sets a member of an object, or inserts an element into an array. */
        public static Patch add(String path, Object value) {
            return new Patch("add", path, value);
        }

        /** Changes a value. */
        public static Patch replace(String path, Object value) {
            return new Patch("replace", path, value);
        }

        /** Removes a value. */
        public static Patch remove(String path) {
            return new Patch("remove", path, null);
        }
    }
}
