package webhooksuite

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"sort"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/jsonpatch"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// aspect is a part of an answer. The cases judge each part separately.
type aspect string

// The aspects, in the order in which an API server checks them.
const (
	inCall        aspect = "call"
	inCode        aspect = "code"
	inContentType aspect = "contentType"
	inBody        aspect = "body"
	inKind        aspect = "kind"
	inVersion     aspect = "version"
	inResponse    aspect = "response"
	inUID         aspect = "uid"
	inAllowed     aspect = "allowed"
	inPatchType   aspect = "patchType"
	inPatch       aspect = "patch"
	inValidating  aspect = "validating"
)

func aspects() []aspect {
	return []aspect{inCall, inCode, inContentType, inBody, inKind, inVersion, inResponse, inUID, inAllowed, inPatchType, inPatch, inValidating}
}

// answer is the answer of a webhook to a review, in the form in which an API server decodes it.
type answer struct {
	reply
	sent   *review
	faults map[aspect]string

	response map[string]any
	allowed  bool
	patch    []any
}

// read decodes the answer to a review, and records the faults of the answer.
func read(sent *review, kind Kind, got reply) *answer {
	a := &answer{reply: got, sent: sent, faults: map[aspect]string{}}
	switch {
	case got.err != nil:
		a.faults[inCall] = got.err.Error()
		return a
	case got.code != http.StatusOK:
		a.faults[inCode] = fmt.Sprintf("the HTTP status %d, with the body %s", got.code, short(got.body))
		return a
	}
	if media, _, err := mime.ParseMediaType(got.header.Get("Content-Type")); err != nil || media != "application/json" {
		a.faults[inContentType] = fmt.Sprintf("the Content-Type %q", got.header.Get("Content-Type"))
	}
	whole, is := a.decode()
	if !is {
		return a
	}
	if kind := tree.Text(whole, "kind"); kind != "AdmissionReview" {
		a.faults[inKind] = fmt.Sprintf("the kind %q", kind)
	}
	if version := tree.Text(whole, "apiVersion"); version != sent.version {
		a.faults[inVersion] = fmt.Sprintf("the apiVersion %q", version)
	}
	if a.response, is = whole["response"].(map[string]any); !is {
		a.faults[inResponse] = "a body without a response: " + short(got.body)
		return a
	}
	if uid, _ := a.response["uid"].(string); uid != sent.uid {
		a.faults[inUID] = fmt.Sprintf("the uid %q", uid)
	}
	if a.allowed, is = a.response["allowed"].(bool); !is {
		a.faults[inAllowed] = fmt.Sprintf("allowed is %s", encoded(a.response["allowed"], false))
	}
	a.readPatch(kind)
	return a
}

// decode decodes the body of the answer as an AdmissionReview.
func (a *answer) decode() (map[string]any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	var whole map[string]any
	if err := decoder.Decode(&whole); err != nil {
		a.faults[inBody] = fmt.Sprintf("%v, in the body %s", err, short(a.body))
		return nil, false
	}
	if decoder.More() {
		a.faults[inBody] = "more than one JSON value in the body"
	}
	return whole, whole != nil
}

// readPatch decodes the patch of the response.
func (a *answer) readPatch(kind Kind) {
	value, has := a.response["patch"]
	patchType, hasType := a.response["patchType"]
	has, hasType = has && value != nil && value != "", hasType && patchType != nil
	switch {
	case !has && !hasType:
		return
	case kind == Validating:
		a.faults[inValidating] = "a patch or a patchType in the response of a validating webhook"
		return
	case has && patchType != "JSONPatch":
		a.faults[inPatchType] = fmt.Sprintf("a patch with the patchType %s", encoded(patchType, false))
	case !has:
		a.faults[inPatchType] = "a patchType without a patch"
		return
	}
	text, is := value.(string)
	if !is {
		a.faults[inPatch] = "a patch that isn't a base64 string: " + short(encoded(value, false))
		return
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		a.faults[inPatch] = fmt.Sprintf("a patch that isn't base64: %v", err)
		return
	}
	decoded, err := tree.Decode(plain)
	if err == nil && decoded == nil {
		return // Go encodes an empty list of operations as null, and API servers accept that as no patch
	}
	if a.patch, is = decoded.([]any); err != nil || !is {
		a.faults[inPatch] = "a patch that isn't an array of operations: " + short(plain)
	}
}

// unreadable returns the reason why an API server can't tell from the answer whether the request is allowed. It returns
// "" for a readable answer.
func (a *answer) unreadable() string {
	for _, aspect := range []aspect{inCall, inCode, inBody, inResponse} {
		if fault := a.faults[aspect]; fault != "" {
			return fault
		}
	}
	return ""
}

// worse returns the first fault of an answer that the answer "than" doesn't have, or "". If all answers have the same
// fault, only the case about this fault reports it.
func (a *answer) worse(than *answer) string {
	for _, aspect := range aspects() {
		if fault := a.faults[aspect]; fault != "" && than.faults[aspect] == "" {
			return fault
		}
	}
	return ""
}

// status returns the code and the message in the status of a denial. If the status has no code, the result is 403. An
// API server sends 400 to the client then. But for the suite, 400 means that the webhook could not read the request.
func (a *answer) status() (code int, message string) {
	code = http.StatusForbidden
	status, _ := a.response["status"].(map[string]any)
	if number, is := status["code"].(json.Number); is {
		if n, err := number.Int64(); err == nil && n > 0 {
			code = int(n)
		}
	}
	message, _ = status["message"].(string)
	return code, message
}

// misunderstood describes a denial with the code 400 or with a code from 500 on: it means that the webhook could not
// handle the request. For any other answer, misunderstood returns "".
func (a *answer) misunderstood() string {
	if a.allowed {
		return ""
	}
	code, message := a.status()
	if code == http.StatusBadRequest || code >= http.StatusInternalServerError {
		return fmt.Sprintf("a denial with the code %d: %s", code, message)
	}
	return ""
}

// patched applies the patch of the answer to a copy of an object. If the answer has no patch or denies the request,
// patched returns the object itself.
func (a *answer) patched(object map[string]any) (map[string]any, error) {
	if len(a.patch) == 0 || !a.allowed {
		return object, nil
	}
	changed, err := jsonpatch.Apply(object, any(a.patch))
	if err != nil {
		return nil, err
	}
	result, is := changed.(map[string]any)
	if !is {
		return nil, fmt.Errorf("the patched object is %s, and must be a JSON object", short(encoded(changed, false)))
	}
	return result, nil
}

// outcome is the effect of an answer on a request: whether the request is allowed, the code of a denial, and the
// patched object.
type outcome struct {
	allowed bool
	code    int
	object  any
}

// outcomeOf returns the outcome of an answer, which must be readable.
func outcomeOf(a *answer, object map[string]any) outcome {
	if !a.allowed {
		code, _ := a.status()
		return outcome{code: code}
	}
	patched, err := a.patched(object)
	if err != nil {
		return outcome{allowed: true, object: err.Error()}
	}
	return outcome{allowed: true, object: meant(patched)}
}

// difference returns the first difference between two outcomes, or "".
func (o outcome) difference(other outcome) string {
	switch {
	case o.allowed != other.allowed:
		return fmt.Sprintf("allowed is %v instead of %v", other.allowed, o.allowed)
	case o.code != other.code:
		return fmt.Sprintf("a denial with the code %d instead of %d", other.code, o.code)
	}
	return differs("", o.object, other.object)
}

// meant returns a value without fields that are null or empty objects. Such a field means the same as a missing field.
func meant(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, field := range v {
			field = meant(field)
			if empty, is := field.(map[string]any); field != nil && (!is || len(empty) > 0) {
				kept[key] = field
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = meant(v[i])
		}
		return kept
	}
	return value
}

// differs compares two values. It returns the path and both values of the first difference, or "" if the values are
// equal.
func differs(path string, want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	w, wok := want.(map[string]any)
	g, gok := got.(map[string]any)
	if wok && gok {
		for _, key := range union(w, g) {
			if d := differs(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), w[key], g[key]); d != "" {
				return d
			}
		}
	}
	x, xok := want.([]any)
	y, yok := got.([]any)
	if xok && yok && len(x) == len(y) {
		for i := range x {
			if d := differs(fmt.Sprintf("%s/%d", path, i), x[i], y[i]); d != "" {
				return d
			}
		}
	}
	return fmt.Sprintf("%s is %s instead of %s", path, short(encoded(got, false)), short(encoded(want, false)))
}

// short returns the beginning of a text, for messages.
func short(text []byte) string {
	const most = 300
	text = bytes.TrimSpace(text)
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// union returns the keys of both maps, sorted.
func union(a, b map[string]any) []string {
	var keys []string
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

func splitDots(path string) []string { return strings.Split(path, ".") }
