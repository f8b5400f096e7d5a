package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A restore deletes new keys, and restores changed and deleted keys. It doesn't write unchanged keys.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := startMember(t, Options{})
	lease, err := m.client.Grant(ctx, 3600)
	if err != nil {
		t.Fatal(err)
	}
	content := func(prefix string) map[string]string {
		t.Helper()
		entries, err := readKeys(ctx, m.client, prefix)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for key, e := range entries {
			values[key] = string(e.value)
		}
		return values
	}
	put(t, m, "/a/kept", "1")
	put(t, m, "/a/changed", "1")
	put(t, m, "/a/back", "1")
	put(t, m, "/a/deleted", "1")
	if _, err := m.client.KV.Put(ctx, "/a/expired", "1", clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	put(t, m, "/b/other", "1")
	want := content("/a/")
	snapshot, err := m.Keys().Snapshot(ctx, "/a/")
	if err != nil {
		t.Fatal(err)
	}

	put(t, m, "/a/changed", "2")
	put(t, m, "/a/back", "2")
	put(t, m, "/a/back", "1") // the key has the same value again, at a new revision
	put(t, m, "/a/new", "2")
	put(t, m, "/b/other", "2")
	if _, err := m.client.KV.Delete(ctx, "/a/deleted"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.client.Revoke(ctx, lease.ID); err != nil {
		t.Fatal(err)
	}

	changes, err := m.Keys().Changes(ctx, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) != 4 {
		t.Errorf("want to change the changed, new, deleted and expired keys, got %d changes", len(changes))
	}
	put(t, m, "/a/changed", "3")
	if err := m.Keys().Apply(ctx, changes); err != nil {
		t.Fatal(err)
	}
	revisions := map[int64]bool{}
	for _, change := range changes {
		if (change.Revision == 0) != (change.Key == "/a/changed") || revisions[change.Revision] {
			t.Errorf("%s has revision %d: want one of its own, except for the key that another client has changed", change.Key, change.Revision)
		}
		revisions[change.Revision] = true
	}
	if changes, err = m.Keys().Changes(ctx, snapshot); err == nil {
		err = m.Keys().Apply(ctx, changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, content("/a/")); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"/b/other": "2"}, content("/b/")); diff != "" {
		t.Errorf("other prefix (-want +got):\n%s", diff)
	}
}
