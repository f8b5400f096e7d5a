//go:build unix

package robustness_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

// replicated are servers of one etcd with several members, and the links between clients, servers and members.
type replicated struct {
	servers, members              []*process
	toServers, toMembers, toPeers []*link
	configs                       []*rest.Config
}

// newReplicated runs three servers of one etcd with three members.
func newReplicated(t *testing.T) *replicated {
	t.Helper()
	const members, replicas = 3, 3
	r := &replicated{}
	var cluster, clients []string
	for i := range members {
		peer := newLink(t, freeAddress(t))
		r.toPeers = append(r.toPeers, peer)
		clients = append(clients, freeAddress(t))
		cluster = append(cluster, fmt.Sprintf("m%d=http://%s", i, peer.address()))
	}
	for i := range members {
		r.members = append(r.members, &process{name: fmt.Sprintf("member %d", i), ready: answers(clients[i]), args: []string{
			"etcd", "--name=" + fmt.Sprintf("m%d", i), "--data-dir=" + filepath.Join(t.TempDir(), "etcd"),
			"--listen-peer-urls=http://" + r.toPeers[i].target, "--initial-advertise-peer-urls=http://" + r.toPeers[i].address(),
			"--listen-client-urls=http://" + clients[i], "--advertise-client-urls=http://" + clients[i],
			"--initial-cluster=" + strings.Join(cluster, ","), "--initial-cluster-state=new",
		}})
	}
	run(t, r.members...)
	certificates := filepath.Join(t.TempDir(), "pki")
	for i := range replicas {
		var addresses []string
		for _, client := range clients {
			l := newLink(t, client)
			r.toMembers = append(r.toMembers, l)
			addresses = append(addresses, "http://"+l.address())
		}
		p, l, config := server(t, fmt.Sprintf("server %d", i), true, "--cert-dir="+certificates, "--etcd-servers="+strings.Join(addresses, ","))
		r.servers, r.toServers, r.configs = append(r.servers, p), append(r.toServers, l), append(r.configs, config)
	}
	return r
}

// Three servers of one etcd with three members keep their promises, while servers and members are killed, stopped and
// paused, and while connections are lost: between clients and servers, servers and members, and members.
func TestReplicas(t *testing.T) {
	needProgram(t)
	r := newReplicated(t)
	survive(t, 0.5, consistency.Options{Configs: r.configs},
		append(ends(t, "server", r.servers...), ends(t, "member", r.members...)...),
		append(append(faults("client to server", r.toServers...), faults("server to member", r.toMembers...)...), faults("member to member", r.toPeers...)...))
}

// While three servers are restarted one after the other, and a server and a member of etcd are killed, no request fails of
// a client that tries again at the next server, as behind a balancer.
func TestRollingRestart(t *testing.T) {
	needProgram(t)
	r := newReplicated(t)
	var clients []kubernetes.Interface
	for _, config := range r.configs {
		config.QPS = -1
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
	}
	ctx, stop := context.WithCancel(t.Context())
	written := make(chan int, 1)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m", n)}}
			for next, end := n, time.Now().Add(patience); ; next++ {
				attempt, cancel := context.WithTimeout(t.Context(), requestTimeout)
				_, err := clients[next%len(clients)].CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(attempt, object, metav1.CreateOptions{})
				cancel()
				if err == nil || apierrors.IsAlreadyExists(err) || t.Context().Err() != nil { // an earlier attempt may have lost its answer
					break
				}
				if time.Now().After(end) {
					t.Errorf("request %d has failed for %v: %v", n, patience, err)
					break
				}
			}
		}
		written <- n
	}()
	restart := func(s syscall.Signal, processes ...*process) {
		t.Helper()
		for _, p := range processes {
			if err := errors.Join(p.end(s), p.start(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	restart(syscall.SIGTERM, r.servers...)
	restart(syscall.SIGKILL, r.servers[0], r.members[0])
	stop()
	n := <-written
	list, err := clients[0].CoreV1().ConfigMaps(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	for _, m := range list.Items {
		if strings.HasPrefix(m.Name, "m") {
			stored++
		}
	}
	if n == 0 || stored != n {
		t.Errorf("%d requests were answered, and %d objects are stored", n, stored)
	}
	t.Logf("%d requests were answered", n)
}
