package webhooksuite

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// Input is an AdmissionReview for a webhook, as an API server sends it.
type Input struct {
	// Hook is the index of the webhook in Suite.Hooks.
	Hook int
	// Origin says where the input comes from, such as a file or a seed.
	Origin string
	// Random is true if the object has random values that follow the schema of its resource.
	Random bool

	whole   map[string]any
	request map[string]any
}

// NewInput returns an input from an AdmissionReview of version v1 in JSON.
func NewInput(hook int, origin string, review []byte) (*Input, error) {
	decoded, err := tree.Decode(review)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", origin, err)
	}
	whole, _ := decoded.(map[string]any)
	request, is := whole["request"].(map[string]any)
	if !is {
		return nil, fmt.Errorf("input %s: the AdmissionReview must have a request", origin)
	}
	return &Input{Hook: hook, Origin: origin, whole: whole, request: request}, nil
}

// Operation returns the operation of the request.
func (in *Input) Operation() string { return tree.Text(in.request, "operation") }

// Subresource returns the subresource of the request, or "".
func (in *Input) Subresource() string { return tree.Text(in.request, "subResource") }

// Resource returns the group, the version and the name of the request's resource.
func (in *Input) Resource() (group, version, resource string) {
	return tree.Text(in.request, "resource", "group"), tree.Text(in.request, "resource", "version"), tree.Text(in.request, "resource", "resource")
}

// object returns the object of the request, or nil for a request without an object.
func (in *Input) object() map[string]any {
	object, _ := in.request["object"].(map[string]any)
	return object
}

// String describes the request in a few words.
func (in *Input) String() string {
	group, version, resource := in.Resource()
	if sub := in.Subresource(); sub != "" {
		resource += "/" + sub
	}
	if group != "" {
		version = group + "/" + version
	}
	name := tree.Text(in.request, "name")
	if namespace := tree.Text(in.request, "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s (%s)", in.Operation(), version, resource, name, in.Origin)), " ")
}

// review is an AdmissionReview that a case sends.
type review struct {
	uid, version string
	body         []byte
}

// with returns a review of the input with a new uid, after changes. The changes get copies of the review and of its
// request.
func (in *Input) with(changes ...func(whole, request map[string]any)) *review {
	whole := tree.Clone(in.whole).(map[string]any)
	request := whole["request"].(map[string]any)
	r := &review{uid: newUID()}
	request["uid"] = r.uid
	for _, change := range changes {
		change(whole, request)
	}
	r.version = tree.Text(whole, "apiVersion")
	r.body = encoded(whole, false)
	return r
}

// review returns a review of the input without changes.
func (in *Input) review() *review { return in.with() }

// setObject returns a change that replaces the object of the request.
func setObject(object any) func(_, request map[string]any) {
	return func(_, request map[string]any) { request["object"] = object }
}

// newUID returns a random UUID.
func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never returns an error
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// encoded returns JSON. The fields of objects are sorted by name, or in the reverse order.
func encoded(value any, reverse bool) []byte {
	var out bytes.Buffer
	encodeTo(&out, value, reverse)
	return out.Bytes()
}

func encodeTo(out *bytes.Buffer, value any, reverse bool) {
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		if reverse {
			sort.Sort(sort.Reverse(sort.StringSlice(keys)))
		}
		out.WriteByte('{')
		for i, key := range keys {
			if i > 0 {
				out.WriteByte(',')
			}
			encodeTo(out, key, reverse)
			out.WriteByte(':')
			encodeTo(out, v[key], reverse)
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			encodeTo(out, v[i], reverse)
		}
		out.WriteByte(']')
	default:
		scalar, _ := json.Marshal(v) // strings, numbers, booleans and null can always be encoded
		out.Write(scalar)
	}
}
