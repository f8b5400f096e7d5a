package trial

import (
	"net/http"
	"strings"
)

// created is an object that a case has created.
type created struct{ path, uid string }

// remember records the object that a request has created, so that removeAll deletes the object. A dry run, a request
// for a subresource, and a review such as a TokenReview create no object.
func (t *T) remember(r Request, a *Answer) {
	t.rememberVersion(r, a)
	if a.Code != http.StatusCreated || strings.Contains(r.target(), "dryRun=") || r.Verb == http.MethodPost && !isCollection(r.Path) {
		return
	}
	name, uid := a.Object.Name(), a.Object.Text("metadata.uid")
	if name == "" || uid == "" {
		return
	}
	path := r.Path
	if r.Verb == http.MethodPost {
		path += "/" + name
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = append(t.created, created{path: path, uid: uid})
}

// rememberVersion records the resource version that a request has written. The method catchUp uses it.
func (t *T) rememberVersion(r Request, a *Answer) {
	version := a.Object.Version()
	if !a.Succeeded() || version == "" || r.Verb == http.MethodGet || strings.Contains(r.target(), "dryRun=") {
		return
	}
	path := objectPath(r.Path)
	if r.Verb == http.MethodPost {
		path += "/" + a.Object.Name()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.versions == nil {
		t.versions = map[string]string{}
	}
	t.versions[path] = version
	t.versions[collection(path[:strings.LastIndex(path, "/")])] = version
}

// isCollection tells whether a path to which clients post is that of a collection, not that of a subresource.
func isCollection(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skipped := 3 // the parts before the resource, as in apis/apps/v1
	if parts[0] == "api" {
		skipped = 2
	}
	if len(parts) > skipped+1 && parts[skipped] == "namespaces" {
		skipped += 2
	}
	return len(parts) == skipped+1
}
