package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// write is a row of the table of writes.
type write struct {
	verb string
	// weight is how often the write is made.
	weight int
	// status tells whether the write is for kinds with a status alone. known tells whether it needs a version of the
	// object as a precondition.
	status, known bool
	// request returns the request of an operation. known is the last version that the client has seen, or a zero value.
	request func(o *Operation, k *kind, known Version) *request
}

var create = write{verb: Create, weight: 3, request: func(o *Operation, k *kind, _ Version) *request {
	o.UID, o.Revision = "", 0
	o.Sent = Content{Value: o.Text}
	return &request{method: http.MethodPost, body: k.annotated(o.Name, o.Sent)}
}}

var writes = []write{
	create,
	{verb: Update, weight: 5, request: func(o *Operation, k *kind, known Version) *request {
		o.Sent = Content{Value: o.Text, Applied: known.Content.Applied}
		return &request{method: http.MethodPut, name: o.Name, body: o.conditional(k.annotated(o.Name, o.Sent))}
	}},
	{verb: Patch, weight: 4, request: func(o *Operation, _ *kind, _ Version) *request {
		changed := o.conditional(&object{Metadata: metadata{Annotations: map[string]string{valueAnnotation: o.Text}}})
		return &request{method: http.MethodPatch, name: o.Name, contentType: "application/merge-patch+json", body: changed}
	}},
	{verb: Apply, weight: 3, request: func(o *Operation, k *kind, _ Version) *request {
		return &request{method: http.MethodPatch, name: o.Name, contentType: "application/apply-patch+yaml",
			query: map[string]string{"fieldManager": fmt.Sprintf("client-%d", o.Client), "force": strconv.FormatBool(o.Forced)},
			body:  o.conditional(k.annotated(o.Name, Content{Applied: o.Text}))}
	}},
	{verb: UpdateStatus, weight: 2, status: true, known: true, request: func(o *Operation, k *kind, known Version) *request {
		o.Revision = known.Revision
		o.Sent = known.Content
		o.Sent.Status = o.Text
		changed := o.conditional(k.annotated(o.Name, o.Sent))
		changed.Status = statusOf(o.Text)
		return &request{method: http.MethodPut, name: o.Name, subresource: "status", body: changed}
	}},
	{verb: PatchStatus, weight: 2, status: true, request: func(o *Operation, _ *kind, _ Version) *request {
		changed := o.conditional(&object{Status: statusOf(o.Text)})
		return &request{method: http.MethodPatch, name: o.Name, subresource: "status", contentType: "application/merge-patch+json", body: changed}
	}},
	{verb: Delete, weight: 3, request: func(o *Operation, _ *kind, _ Version) *request {
		o.Text = ""
		options := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions"}
		preconditions := map[string]string{}
		if o.UID != "" {
			preconditions["uid"] = o.UID
		}
		if o.Revision != 0 {
			preconditions["resourceVersion"] = strconv.FormatUint(o.Revision, 10)
		}
		if len(preconditions) > 0 {
			options["preconditions"] = preconditions
		}
		return &request{method: http.MethodDelete, name: o.Name, body: options}
	}},
}

// conditional adds the preconditions to an object.
func (o *Operation) conditional(sent *object) *object {
	sent.Metadata.UID = o.UID
	if o.Revision != 0 {
		sent.Metadata.ResourceVersion = strconv.FormatUint(o.Revision, 10)
	}
	return sent
}

// writer is a client that writes.
type writer struct {
	*client
	// known has the last versions that the client has seen, by resource and name. Other clients change the objects, so
	// preconditions by these versions succeed or fail.
	known      map[string]Version
	number     int
	operations []Operation
}

func newWriter(c *client) *writer { return &writer{client: c, known: map[string]Version{}} }

// work writes until writing ends.
func (w *writer) work(ctx, writing context.Context) {
	for writing.Err() == nil {
		epoch, begins := w.run.nextWrite()
		if begins {
			w.retire(ctx, epoch-2)
		}
		k := &w.run.kinds[w.random.IntN(len(w.run.kinds))]
		name := objectName(epoch, w.random.IntN(objectsOfEpoch))
		if o := w.write(ctx, k, name, w.choose(k, name)); o.Outcome != OK && w.chance(0.5) {
			w.get(ctx, k, name) // the next precondition is met more likely
		}
	}
}

func (w *writer) choose(k *kind, name string) *write {
	_, known := w.known[k.resource.Name+"/"+name]
	return weighed(w.random, writes, func(row *write) int {
		if row.status && !k.status || row.known && !known {
			return 0
		}
		return row.weight
	})
}

// write makes a write with random preconditions, and records it.
func (w *writer) write(ctx context.Context, k *kind, name string, row *write) *Operation {
	w.number++
	key := k.resource.Name + "/" + name
	known, has := w.known[key]
	o := Operation{
		Client: w.id, Verb: row.verb, Resource: k.resource.Name, Name: name,
		Text: fmt.Sprintf("%d-%d", w.id, w.number), Forced: w.chance(0.8),
	}
	if has && w.chance(0.5) {
		o.Revision = known.Revision
	}
	if has && w.chance(0.3) {
		o.UID = known.UID
	}
	return w.send(ctx, k, row.request(&o, k, known), o)
}

// get reads an object, and records it.
func (w *writer) get(ctx context.Context, k *kind, name string) {
	w.send(ctx, k, &request{method: http.MethodGet, name: name}, Operation{Client: w.id, Verb: Get, Resource: k.resource.Name, Name: name})
}

// send sends the request of an operation, and records the operation with its answer.
func (w *writer) send(ctx context.Context, k *kind, r *request, o Operation) *Operation {
	r.kind = k
	a := w.do(ctx, r)
	if a.outcome == NotFound && r.name == "" {
		a.outcome = Refused // the namespace isn't found
	}
	if a.outcome == OK {
		var err error
		if o.Returned, err = returned(&o, a.body); err != nil {
			a.failed(err)
		}
	}
	o.Call, o.Return, o.Outcome, o.Reason = a.call, a.returned, a.outcome, a.reason
	key := o.Resource + "/" + o.Name
	switch {
	case o.Outcome == OK && o.Verb != Delete:
		w.known[key] = o.Returned
		w.run.saw(k, o.Returned.Revision)
	case o.Outcome == NotFound:
		delete(w.known, key)
	case o.Outcome.none():
		w.wait(ctx)
	}
	w.operations = append(w.operations, o)
	return &w.operations[len(w.operations)-1]
}

// returned returns the version in the answer to an operation. The answer to a delete is a Status or the object: it
// returns the uid of either.
func returned(o *Operation, body []byte) (Version, error) {
	if o.Verb == Delete {
		var answer struct {
			Metadata struct{ UID string }
			Details  struct{ UID string }
		}
		err := json.Unmarshal(body, &answer)
		return Version{UID: answer.Metadata.UID + answer.Details.UID}, err
	}
	_, version, err := decode(body)
	return version, err
}

// retire deletes the objects of an epoch, so that the collections stay small.
func (w *writer) retire(ctx context.Context, epoch int) {
	if epoch < 0 {
		return
	}
	for i := range w.run.kinds {
		k := &w.run.kinds[i]
		for n := range objectsOfEpoch {
			o := Operation{Client: w.id, Verb: Delete, Resource: k.resource.Name, Name: objectName(epoch, n)}
			w.send(ctx, k, &request{method: http.MethodDelete, name: o.Name}, o)
		}
	}
}
