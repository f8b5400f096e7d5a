package trial

import (
	"net/http"
)

// Identified returns headers for requests by a user that has a uid and extra fields, and the userInfo of this user in
// reviews. The user is the client's user. If the client may impersonate users, the headers add the uid and a field.
// Otherwise, there are no headers.
func (t *T) Identified() (http.Header, Object) {
	request := Request{Verb: http.MethodPost, Path: SelfReviews.path("", ""), Body: Object{"apiVersion": SelfReviews.GroupVersion(), "kind": SelfReviews.Kind}}
	own := t.Do(request).OK().Sub("status.userInfo")
	headers := http.Header{"Impersonate-User": {own.Text("username")}, "Impersonate-Uid": {"conformance-uid"}, "Impersonate-Extra-Conformance.miniapi.dev%2fkey": {"one", "two"}}
	for _, group := range own.List("groups") {
		headers.Add("Impersonate-Group", group.(string))
	}
	request.Header = headers
	if a := t.Do(request); a.Succeeded() {
		return headers, a.Object.Sub("status.userInfo")
	}
	return nil, own
}
