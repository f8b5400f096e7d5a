package aggregation

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
	"k8s.io/kube-aggregator/pkg/controllers/openapi/aggregator"
	merging "k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// swaggerPath is the path of the document in which a server describes all its APIs, in OpenAPI version 2. Few clients
// read it, and it may be large. So this server requests the documents of other servers only after a client has
// requested the document of this server.
const swaggerPath = "/openapi/v2"

// swagger is the part of another server's document that describes one API.
type swagger struct {
	// wanted is true after the first request for the document of this server. All remoteAPIs of an Aggregator share it.
	wanted *atomic.Bool
	// settled is true after the first check of the other server with wanted true, and after the end of the remoteAPI.
	settled condition.Variable[bool]

	mu sync.Mutex
	// part has no value before the other server's first answer. Its ETag is that of the other server's document, or a
	// hash of the document.
	part cached.Result[*spec.Swagger]
}

// Swaggers returns the parts of other servers' documents in OpenAPI version 2 that describe the APIs of their
// APIServices. The order is kube-aggregator's: by the priority of the group, then by the name of the APIService.
func (a *Aggregator) Swaggers() []cached.Result[*spec.Swagger] {
	all := a.remotes.all()
	slices.SortFunc(all, func(x, y *remoteAPI) int {
		return cmp.Or(cmp.Compare(y.service.Spec.GroupPriorityMinimum, x.service.Spec.GroupPriorityMinimum), cmp.Compare(x.service.Name, y.service.Name))
	})
	var parts []cached.Result[*spec.Swagger]
	for _, r := range all {
		if part := r.swagger.known(); part.Value != nil {
			parts = append(parts, part)
		}
	}
	return parts
}

func (s *swagger) known() cached.Result[*spec.Swagger] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.part
}

// readSwaggers makes this server request the documents of other servers, from now on with each check of a server. It
// waits until each server has been checked once, or until ctx ends.
func (a *Aggregator) readSwaggers(ctx context.Context) {
	all := a.remotes.all()
	if !a.swaggersWanted.Swap(true) {
		for _, r := range all {
			r.checkSoon()
		}
	}
	for _, r := range all {
		_ = r.swagger.settled.Wait(ctx, func(settled bool) bool { return settled })
	}
}

// refresh requests the document of the server of r, if a client wants such documents and the server is available. After
// an error, the known part stays.
func (s *swagger) refresh(ctx context.Context, r *remoteAPI) {
	if !s.wanted.Load() {
		return
	}
	if r.available.Load() {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		if err := s.read(ctx, r); err != nil {
			klog.FromContext(ctx).V(2).Info("the OpenAPI document of another server isn't up to date", "APIService", r.service.Name, "err", err)
		}
	}
	if ctx.Err() == nil { // otherwise, Hold has interrupted the check, or the remoteAPI has ended
		s.settled.Set(true)
	}
}

// read requests the document of the server of r, and keeps the part that describes the API. kube-aggregator's
// downloader sends the ETag of the last answer.
func (s *swagger) read(ctx context.Context, r *remoteAPI) error {
	var downloader aggregator.Downloader
	document, etag, _, err := downloader.Download(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		r.pass(w, req.WithContext(asked))
	}), s.known().Etag)
	if err != nil || document == nil { // document is nil if it hasn't changed, or if the other server has none
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = cached.Result[*spec.Swagger]{Value: merging.FilterSpecByPathsWithoutSideEffects(document, []string{apiPath(r.gv) + "/"}), Etag: etag}
	return nil
}

// byAggregator tells whether a server makes the request: this server itself, or the aggregator of another miniapi or
// kube-apiserver. Such a server uses only the APIs that this server has itself, so its request doesn't wait for other
// servers. Otherwise, two servers that have APIServices for each other would wait for each other.
func byAggregator(req *http.Request) bool {
	asking, ok := request.UserFrom(req.Context())
	return ok && slices.Contains([]string{user.APIServerUser, "system:aggregator"}, asking.GetName())
}
