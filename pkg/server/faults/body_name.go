package faults

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/yaml"
)

// maxBody is the maximum number of bytes that bodyName reads. k8s.io/apiserver has the same limit for a body by
// default.
const maxBody = 3 << 20

// bodyName returns the name of the object in the body of a request, or "". The body can be read again afterwards.
func bodyName(req *http.Request) string {
	if req.Body == nil {
		return ""
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody))
	rest := io.Reader(req.Body)
	if err != nil {
		rest = failing{err}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), req.Body}
	object := metav1.PartialObjectMetadata{}
	// If the object can't be decoded, bodyName returns "", and the handler refuses the request.
	_ = decode(req.Header.Get("Content-Type"), body, &object)
	return object.Name
}

// failing is a reader that returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// decode decodes the metadata of an object of any kind. In protobuf, all objects have their metadata in the same field.
func decode(contentType string, body []byte, object *metav1.PartialObjectMetadata) error {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = runtime.ContentTypeJSON
	}
	switch mediaType {
	case runtime.ContentTypeProtobuf:
		envelope := runtime.Unknown{}
		if err := envelope.Unmarshal(bytes.TrimPrefix(body, []byte("k8s\x00"))); err != nil {
			return err
		}
		return object.Unmarshal(envelope.Raw)
	case runtime.ContentTypeCBOR:
		return cbor.Unmarshal(body, object)
	case runtime.ContentTypeYAML:
		return yaml.Unmarshal(body, object)
	}
	return json.Unmarshal(body, object)
}
