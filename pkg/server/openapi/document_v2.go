package openapi

import (
	"bytes"
	"crypto/sha512"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/munnerz/goautoneg"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// documentV2 serves /openapi/v2. kube-openapi's handler would need the document as a spec.Swagger: it would encode all of
// it again after a change of one custom resource definition, and keep it in both forms.
type documentV2 struct {
	// kinds returns the document of the built-in kinds, and its encoding.
	kinds     func() (*spec.Swagger, *fragment, error)
	resources *customResources
	// others returns the documents of other servers.
	others func() []cached.Result[*spec.Swagger]

	mu sync.Mutex
	// etag is the ETag of the document, which changed last at the time modified.
	etag     string
	modified time.Time
	// merged is the document with those of other servers, or nil.
	merged *fragment
}

// fragments returns the fragments of the document, its ETag, and the time of its last change.
func (d *documentV2) fragments() ([]*fragment, string, time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	swagger, kinds, err := d.kinds()
	if err != nil {
		return nil, "", time.Time{}, err
	}
	all := append([]*fragment{kinds}, d.resources.describe(swagger)...)
	others := d.others()
	if len(others) == 0 {
		d.merged = nil
	} else if d.merged, err = withOthers(d.merged, all, others); err != nil {
		return nil, "", time.Time{}, err
	} else {
		all = []*fragment{d.merged}
	}
	if etag := fmt.Sprintf("%X", sha512.Sum512([]byte(versionOf(all)))); etag != d.etag {
		d.etag, d.modified = etag, time.Now()
	}
	return all, d.etag, d.modified, nil
}

func versionOf(all []*fragment) string {
	versions := make([]string, len(all))
	for i, f := range all {
		versions[i] = f.version
	}
	return strings.Join(versions, ",")
}

// protobufSubtype is the subtype of the media type of a document in protobuf. Old clients request it by another name.
const protobufSubtype = "com.github.proto-openapi.spec.v2.v1.0+protobuf"

// encodings are the encodings of the document, with the best one first.
var encodings = []struct {
	subtype, contentType string
	join                 func([]*fragment) ([]byte, error)
}{
	{"json", "application/json", func(all []*fragment) ([]byte, error) { return joinJSON(all), nil }},
	{"com.github.proto-openapi.spec.v2@v1.0+protobuf", "application/" + protobufSubtype, joinProtobuf},
	{protobufSubtype, "application/" + protobufSubtype, joinProtobuf},
}

// ServeHTTP implements http.Handler.
func (d *documentV2) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Add("Vary", "Accept")
	accepted := req.Header.Get("Accept")
	if accepted == "" {
		accepted = "*/*"
	}
	for _, clause := range goautoneg.ParseAccept(accepted) {
		for _, e := range encodings {
			if (clause.Type == "application" || clause.Type == "*") && (clause.SubType == e.subtype || clause.SubType == "*") {
				d.serve(w, req, e.contentType, e.join)
				return
			}
		}
	}
	w.WriteHeader(http.StatusNotAcceptable)
}

func (d *documentV2) serve(w http.ResponseWriter, req *http.Request, contentType string, join func([]*fragment) ([]byte, error)) {
	all, etag, modified, err := d.fragments()
	var content []byte
	if err == nil {
		content, err = join(all)
	}
	if err != nil {
		klog.FromContext(req.Context()).Error(err, "the OpenAPI v2 document can't be made")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Etag", strconv.Quote(etag))
	http.ServeContent(w, req, "", modified, bytes.NewReader(content))
}
