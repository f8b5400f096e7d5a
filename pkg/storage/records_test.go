package storage

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
)

// What is stored together is what the store would have stored one by one.
func TestRecords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := startMember(t, Options{})
	configMaps := newConfigMaps(t, m, direct)
	feed := m.Feed(schema.GroupResource{Resource: "configmaps"})
	record := func(name string) Record {
		t.Helper()
		object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", ResourceVersion: "7"}}
		r, err := feed.Record(ctx, "", name, object)
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
	if err := m.Create(ctx, records); err != nil {
		t.Fatal(err)
	}
	if got := len(configMaps.list(t, "", "").Items); got != n {
		t.Errorf("want %d objects, got %d", n, got)
	}
	configMaps.create(t, "one")
	stored, err := m.client.KV.Get(ctx, "/registry"+key("one"))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := stored.Kvs[0].Value, record("one").value; !bytes.Equal(want, got) {
		t.Errorf("want %q as the store has it, got %q", want, got)
	}

	err = m.Create(ctx, []Record{record("new"), record("one")})
	if err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("want an error that says that one is there, got %v", err)
	}
	if err := configMaps.Get(ctx, key("new"), storage.GetOptions{}, &v1.ConfigMap{}); !storage.IsNotFound(err) {
		t.Errorf("want none of those that were to be stored together, got error %v", err)
	}
	if err := m.Create(ctx, nil); err != nil {
		t.Errorf("nothing to store: %v", err)
	}
}
