package storage

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// CreatedSince returns the new keys of a prefix. The result "alone" is false if an older key was written too, or if a
// new key expires.
func TestCreatedSince(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(t *testing.T, client clientv3.KV, lease clientv3.LeaseID) error
		keys         []string
		alone        bool
	}{
		{"nothing", "no key was written", func(*testing.T, clientv3.KV, clientv3.LeaseID) error { return nil }, nil, true},
		{"created", "the last value counts", func(t *testing.T, client clientv3.KV, _ clientv3.LeaseID) error {
			if _, err := client.Put(t.Context(), "/a/new", "1"); err != nil {
				return err
			}
			_, err := client.Put(t.Context(), "/a/new", "2")
			return err
		}, []string{"/a/new=2"}, true},
		{"elsewhere", "the key has another prefix", func(t *testing.T, client clientv3.KV, _ clientv3.LeaseID) error {
			_, err := client.Put(t.Context(), "/b/new", "1")
			return err
		}, nil, true},
		{"changed", "an earlier key has another value", func(t *testing.T, client clientv3.KV, _ clientv3.LeaseID) error {
			_, err := client.Put(t.Context(), "/a/old", "2")
			return err
		}, nil, false},
		{"expiring", "the key will be deleted", func(t *testing.T, client clientv3.KV, lease clientv3.LeaseID) error {
			_, err := client.Put(t.Context(), "/a/event", "1", clientv3.WithLease(lease))
			return err
		}, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			m := startMember(t, Options{})
			if _, err := m.client.KV.Put(ctx, "/a/old", "1"); err != nil {
				t.Fatal(err)
			}
			lease, err := m.client.Grant(ctx, 60)
			if err != nil {
				t.Fatal(err)
			}
			since, err := m.Keys().Revision(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := test.change(t, m.client.KV, lease.ID); err != nil {
				t.Fatal(err)
			}
			records, alone, err := m.Keys().CreatedSince(ctx, "/a/", since)
			if err != nil || alone != test.alone || len(records) != len(test.keys) {
				t.Fatalf("got %v, alone %t, error %v; want %v, alone %t: %s", records, alone, err, test.keys, test.alone, test.reason)
			}
			for i, r := range records {
				if got := r.key + "=" + string(r.Value()); got != test.keys[i] {
					t.Errorf("got %s, want %s: %s", got, test.keys[i], test.reason)
				}
			}
		})
	}
}
