package recorder

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// lastApplied is the annotation in which kubectl apply keeps a copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secretFields are the paths of secret values, by kind. A path leads to a value, or to a map whose values are all
// secret.
var secretFields = map[trace.Kind][][]string{
	{Version: "v1", Kind: "Secret"}: {{"data"}, {"stringData"},
		{"metadata", "annotations", lastApplied}},
	{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenReview"}:  {{"spec", "token"}, {"metadata", "annotations", lastApplied}},
	{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}: {{"status", "token"}},
}

// fieldsOf returns the paths of a kind's secret values. All versions of a kind have the same paths.
func fieldsOf(kind trace.Kind) [][]string {
	kind.Version = "v1"
	return secretFields[kind]
}

// holdsSecrets reports whether objects of the resource have secret values. The resource is known at the start of a
// request. The kind is known only when admission reads the object, and a request may end earlier.
func holdsSecrets(r trace.Resource) bool {
	return r.Group == "" && (r.Resource == "secrets" || r.Subresource == "token") || r.Resource == "tokenreviews"
}

// hasSecrets reports whether objects of a kind have secret values.
func hasSecrets(kind trace.Kind) bool { return fieldsOf(kind) != nil }

// redaction replaces the secrets in the recording of one request. A webhook or a policy may copy a secret to an
// annotation or to another object. redaction therefore remembers each secret value that it replaces, and replaces the
// same text in everything that is recorded later.
type redaction struct {
	// values are the texts of the secret values: each value itself, its base64 form, and its decoded form if it is base64.
	values map[string]bool
	// met is true if the request has had an object of a kind with secrets. Without such an object, no secret value is
	// known.
	met bool
}

// shortest is the length of the shortest secret value that redaction looks for within longer texts. A shorter value,
// such as "a", would be a part of many words, so only a text equal to the value is replaced.
const shortest = 4

// object replaces the secrets of an object.
func (r *redaction) object(kind trace.Kind, object []byte) json.RawMessage {
	if !r.concerns(kind) {
		return object
	}
	var content any
	if json.Unmarshal(object, &content) != nil {
		return nil
	}
	return encoded(r.scrub(r.fields(fieldsOf(kind), content)))
}

// concerns reports whether content about an object of a kind may have secrets: the kind has secrets, or the request has
// had an object of such a kind before. It sets met.
func (r *redaction) concerns(kind trace.Kind) bool {
	r.met = r.met || hasSecrets(kind)
	return r.met
}

func (r *redaction) fields(fields [][]string, content any) any {
	for _, path := range fields {
		content = r.path(content, path)
	}
	return content
}

// learn remembers the texts of a secret value.
func (r *redaction) learn(content any) {
	switch content := content.(type) {
	case string:
		if r.values == nil {
			r.values = map[string]bool{}
		}
		r.values[content] = true
		if decoded, err := base64.StdEncoding.DecodeString(content); err == nil {
			r.values[string(decoded)] = true
		}
		r.values[base64.StdEncoding.EncodeToString([]byte(content))] = true
	case map[string]any:
		for _, value := range content {
			r.learn(value)
		}
	}
}

// scrub replaces every text in content that contains a known secret value, including keys of maps, by Redacted.
func (r *redaction) scrub(content any) any {
	switch content := content.(type) {
	case string:
		return r.text(content)
	case []any:
		for i := range content {
			content[i] = r.scrub(content[i])
		}
	case map[string]any:
		for key, value := range content {
			delete(content, key)
			content[r.text(key)] = r.scrub(value)
		}
	}
	return content
}

// text returns the text, or Redacted if the text contains a known secret value (see shortest).
func (r *redaction) text(text string) string {
	if r.values[text] && text != "" {
		return trace.Redacted
	}
	for value := range r.values {
		if len(value) >= shortest && strings.Contains(text, value) {
			return trace.Redacted
		}
	}
	return text
}

// path replaces the value at a path by Redacted, and adds it to the known secret values.
func (r *redaction) path(content any, path []string) any {
	if len(path) == 0 {
		r.learn(content)
		return redactValues(content)
	}
	if object, ok := content.(map[string]any); ok {
		if value, ok := object[path[0]]; ok {
			object[path[0]] = r.path(value, path[1:])
		}
	}
	return content
}

// redactValues replaces a value. If the value is a map, it replaces the map's values and keeps the keys.
func redactValues(content any) any {
	switch content := content.(type) {
	case nil:
		return nil
	case map[string]any:
		for key := range content {
			content[key] = trace.Redacted
		}
		return content
	}
	return trace.Redacted
}

// review replaces the secrets in the request of an AdmissionReview.
func (r *redaction) review(kind trace.Kind, review []byte) json.RawMessage {
	if !r.concerns(kind) {
		return review
	}
	var content map[string]any
	if json.Unmarshal(review, &content) != nil {
		return nil
	}
	if request, ok := content["request"].(map[string]any); ok {
		for _, field := range []string{"object", "oldObject"} {
			request[field] = r.fields(fieldsOf(kind), request[field])
		}
	}
	return encoded(r.scrub(content))
}

// response replaces the secrets in a webhook's answer. A webhook can write a secret into any field. response therefore
// keeps only the fields that an AdmissionReview's response has, and replaces each message, warning and annotation.
func (r *redaction) response(kind trace.Kind, review []byte) json.RawMessage {
	if !r.concerns(kind) {
		return review
	}
	var content struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
		Response   *struct {
			UID       string `json:"uid"`
			Allowed   bool   `json:"allowed"`
			PatchType string `json:"patchType,omitempty"`
			Patch     string `json:"patch,omitempty"`
			Status    *struct {
				Code    int    `json:"code,omitempty"`
				Reason  string `json:"reason,omitempty"`
				Message string `json:"message,omitempty"`
			} `json:"status,omitempty"`
			Warnings         []string          `json:"warnings,omitempty"`
			AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
		} `json:"response,omitempty"`
	}
	if json.Unmarshal(review, &content) != nil {
		return nil
	}
	if response := content.Response; response != nil {
		if decoded, err := base64.StdEncoding.DecodeString(response.Patch); err == nil && len(decoded) > 0 {
			response.Patch = base64.StdEncoding.EncodeToString(r.patch(kind, decoded))
		} else {
			response.Patch = ""
		}
		if response.Status != nil {
			response.Status.Message = replaced(response.Status.Message)
		}
		for i := range response.Warnings {
			response.Warnings[i] = trace.Redacted
		}
		for key := range response.AuditAnnotations {
			response.AuditAnnotations[key] = trace.Redacted
		}
	}
	var whole any
	_ = json.Unmarshal(encoded(content), &whole) // no error is possible: encoded returns valid JSON
	return encoded(r.scrub(whole))
}

// replaced returns Redacted, or "" for the empty text, which has no secret.
func replaced(text string) string {
	if text == "" {
		return ""
	}
	return trace.Redacted
}

// patch replaces the values in a JSON patch that are written to secret fields, or that contain such fields.
func (r *redaction) patch(kind trace.Kind, patch []byte) json.RawMessage {
	if !r.concerns(kind) {
		return patch
	}
	var operations []any
	if json.Unmarshal(patch, &operations) != nil {
		return nil
	}
	for _, each := range operations {
		operation, ok := each.(map[string]any)
		if !ok {
			continue
		}
		path, _ := operation["path"].(string)
		value, ok := operation["value"]
		if !ok {
			continue
		}
		for _, field := range fieldsOf(kind) {
			value = r.target(segments(path), field, value)
		}
		operation["value"] = value
	}
	return encoded(r.scrub(operations))
}

// target replaces the part of a value that belongs to a secret field. path is the path of the value. It may lead to the
// field, to a part of the field, or to a parent of the field.
func (r *redaction) target(path, field []string, value any) any {
	for len(path) > 0 && len(field) > 0 && path[0] == field[0] {
		path, field = path[1:], field[1:]
	}
	if len(path) > 0 && len(field) > 0 {
		return value
	}
	return r.path(value, field)
}

// segments splits a JSON pointer into its unescaped parts.
func segments(pointer string) []string {
	if pointer == "" {
		return nil
	}
	all := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, segment := range all {
		all[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
	}
	return all
}

func encoded(content any) json.RawMessage {
	raw, _ := json.Marshal(content) // the error is impossible: the content was decoded from JSON
	return raw
}
