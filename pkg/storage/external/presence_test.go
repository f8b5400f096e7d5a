package external

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

func connect(t *testing.T, server string) *Etcd {
	t.Helper()
	e, err := New(storagebackend.TransportConfig{ServerList: []string{"http://" + server}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// announce announces a server until leave is called. leave returns when the server's key is gone.
func announce(t *testing.T, etcd, prefix string) (p *Presence, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := connect(t, etcd).Announce(ctx, prefix)
	if err != nil {
		t.Fatal(err)
	}
	leave = func() { cancel(); p.Wait() }
	t.Cleanup(leave)
	return p, leave
}

// TestPresence checks that a server can determine whether it is the only server on an etcd.
func TestPresence(t *testing.T) {
	t.Parallel()
	etcd := serveEtcd(t, "tcp", "127.0.0.1:0")
	check := func(server string, p *Presence, want bool, reason string) {
		t.Helper()
		if got := p.Alone(t.Context()); got != want {
			t.Errorf("%s: alone: want %t, got %t: %s", server, want, got, reason)
		}
	}
	first, _ := announce(t, etcd, "/registry")
	check("first", first, true, "the server is alone")
	elsewhere, _ := announce(t, etcd, "/another")
	check("first", first, true, "the other has other objects")
	check("elsewhere", elsewhere, true, "the other has other objects")

	second, leave := announce(t, etcd, "registry")
	check("first", first, false, "the second is there")
	check("second", second, false, "the first is there")
	leave()
	check("first", first, true, "the second has left")
	check("second", second, false, "a server that has left can't determine that")

	if _, err := first.client.Put(t.Context(), "/registry/masterleases/192.0.2.1", "its endpoints"); err != nil {
		t.Fatal(err)
	}
	check("first", first, false, "a kube-apiserver is there")
	check("elsewhere", elsewhere, true, "it has other objects")
}

// TestPresenceComesBack checks that a server writes its key again after the key has expired.
func TestPresenceComesBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := connect(t, serveEtcd(t, "tcp", "127.0.0.1:0")).presence(ctx, "/registry")
	if err != nil {
		t.Fatal(err)
	}
	session, err := p.announce(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go p.stay(ctx, session)
	t.Cleanup(p.Wait)
	t.Cleanup(cancel)

	if _, err := p.client.Delete(t.Context(), p.mark); err != nil {
		t.Fatal(err)
	}
	if p.Alone(t.Context()) {
		t.Error("a server without its key counts as alone")
	}
	session.Orphan() // the lease expires as after an outage
	err = wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return p.Alone(ctx), nil
	})
	if err != nil {
		t.Errorf("the key isn't written again: %v", err)
	}
}
