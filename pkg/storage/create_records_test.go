package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
)

func recordOf(ctx context.Context, feed *Feed, namespace string, object *v1.ConfigMap) (Record, error) {
	data, err := feed.Encode(object)
	if err != nil {
		return Record{}, err
	}
	return feed.Record(ctx, namespace, object.Name, data)
}

// Feed.Record and Keys.Create store the same bytes as the method Create of the resource's store.
func TestRecords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := startMember(t, Options{})
	configMaps := newConfigMaps(t, m, direct)
	feed := m.Feed(schema.GroupResource{Resource: "configmaps"})
	record := func(name string) Record {
		t.Helper()
		object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", ResourceVersion: "7"}}
		r, err := recordOf(ctx, feed, "", object)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	const n = 2*maxTxnOps + 1
	var records []Record
	for i := range n {
		records = append(records, record(fmt.Sprint("together-", i)))
	}
	if err := m.Keys().Create(ctx, records); err != nil {
		t.Fatal(err)
	}
	if got := len(configMaps.list(t, "", "").Items); got != n {
		t.Errorf("want %d objects, got %d", n, got)
	}
	for _, r := range records {
		if found, err := m.client.KV.Get(ctx, r.key); err != nil || len(found.Kvs) != 1 || found.Kvs[0].ModRevision != r.Revision() {
			t.Fatalf("%s is said to be stored at revision %d, got %v, %v", r.key, r.Revision(), found, err)
		}
	}
	configMaps.create(t, "one")
	stored, err := m.client.KV.Get(ctx, "/registry"+key("one"))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := stored.Kvs[0].Value, record("one").value; !bytes.Equal(want, got) {
		t.Errorf("want %q as the store has it, got %q", want, got)
	}

	err = m.Keys().Create(ctx, []Record{record("new"), record("one")})
	if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "storing 2 objects: /registry"+key("one")+" already exists") {
		t.Errorf("want an error that says which is there, got %v", err)
	}
	if err := configMaps.Get(ctx, key("new"), storage.GetOptions{}, &v1.ConfigMap{}); !storage.IsNotFound(err) {
		t.Errorf("want none of those that were to be stored together, got error %v", err)
	}
	if err := m.Keys().Create(ctx, nil); err != nil {
		t.Errorf("nothing to store: %v", err)
	}
}

// If the caller already has an object at its revision, the feed doesn't read the object's value.
func TestFeedOfKnownObjects(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := startMember(t, Options{})
	newConfigMaps(t, m, direct)
	feed := m.Feed(schema.GroupResource{Resource: "configmaps"})
	var records []Record
	for _, name := range []string{"a", "b"} {
		r, err := recordOf(ctx, feed, "n", &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n"}})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if err := m.Keys().Create(ctx, records); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason string
		known        map[string]int64
		decoded      int
	}{
		{"all", "the feed reads no object", map[string]int64{"n/a": records[0].Revision(), "n/b": records[1].Revision()}, 0},
		{"one", "the feed reads the other object", map[string]int64{"n/a": records[0].Revision()}, 1},
		{"outdated", "an object with another revision isn't the stored object",
			map[string]int64{"n/a": records[0].Revision(), "n/b": records[1].Revision() + 1}, 1},
		{"none", "the feed reads all objects", nil, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			decoded := 0
			objects, revision, err := feed.Decoding(Decoder{
				Known: func(key string, revision int64) runtime.Object {
					if test.known[key] != revision {
						return nil
					}
					return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: path.Base(key), Namespace: "n"}}
				},
				Decode: func(data []byte, revision int64) (runtime.Object, error) {
					decoded++
					return feed.Decode(data, revision)
				},
			}).List(ctx)
			if err != nil || revision < records[1].Revision() || len(objects) != 2 {
				t.Fatalf("got %v at %d, %v, want both objects", objects, revision, err)
			}
			for i, name := range []string{"a", "b"} {
				if got := objects[i].(*v1.ConfigMap).Name; got != name {
					t.Errorf("object %d is %q, want %q", i, got, name)
				}
			}
			if decoded != test.decoded {
				t.Errorf("%d objects were decoded, want %d: %s", decoded, test.decoded, test.reason)
			}
		})
	}
}

// No watch can begin before the records that Create has stored. All records of a transaction have the same
// revision, so a watch that resumed in the middle of the revision would miss some of the records.
func TestHistoryBeginsAfterRecords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := startMember(t, Options{})
	newConfigMaps(t, m, direct)
	before := m.server.KV().Rev()
	var records []Record
	for _, name := range []string{"a", "b", "c"} {
		r, err := recordOf(ctx, m.Feed(schema.GroupResource{Resource: "configmaps"}), "", &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n"}})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if err := m.Keys().Create(ctx, records); err != nil {
		t.Fatal(err)
	}
	for name, decorator := range map[string]generic.StorageDecorator{"cached": cached, "direct": direct} {
		store := newConfigMaps(t, m, decorator)
		old := store.watch(t, strconv.FormatInt(before, 10))
		if e := next(t, old); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Errorf("%s: want the error that the version is too old, got %s %v", name, e.Type, e.Object)
		}
		list := store.list(t, "", "")
		if len(list.Items) < len(records) {
			t.Errorf("%s: want %d objects, got %d", name, len(records), len(list.Items))
		}
		now := store.watch(t, list.ResourceVersion)
		store.create(t, name)
		if e := next(t, now); e.Type != watch.Added {
			t.Errorf("%s: want the event of the new object, got %s %v", name, e.Type, e.Object)
		}
	}
}

// The hub's log of recent events drops all events of a revision together, even if the log would otherwise
// begin in the middle of a transaction.
func TestLogForgetsRecords(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	var records []Record
	for i := range maxTxnOps + 1 { // enough for two transactions, and so for two revisions
		records = append(records, Record{key: fmt.Sprint("/together/", i), value: []byte("1")})
	}
	if err := m.Keys().Create(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		put(t, m, fmt.Sprint("/large/", i), strings.Repeat("x", maxLogBytes/2))
	}
	events := m.client.Watch(t.Context(), "/large/1", clientv3.WithRev(m.server.KV().Rev()))
	collect(t, events, 1) // when the watch has the event, the log has it too
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	if first := m.hub.log.events[0].Kv.ModRevision; first <= m.hub.log.from {
		t.Errorf("the log begins after revision %d and has an event of %d", m.hub.log.from, first)
	}
}
