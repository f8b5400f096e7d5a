package robustness_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

// Three servers of one etcd with three members keep their promises, while servers and members are killed, stopped and
// paused, and while connections are lost: between clients and servers, servers and members, and members.
func TestReplicas(t *testing.T) {
	needProgram(t)
	const members, replicas = 3, 3
	var toPeers, toMembers, toServers []*link
	var cluster, clients []string
	for i := range members {
		peer := newLink(t, freeAddress(t))
		toPeers = append(toPeers, peer)
		clients = append(clients, freeAddress(t))
		cluster = append(cluster, fmt.Sprintf("m%d=http://%s", i, peer.address()))
	}
	var etcds, servers []*process
	for i := range members {
		etcds = append(etcds, &process{name: fmt.Sprintf("member %d", i), ready: answers(clients[i]), args: []string{
			"etcd", "--name=" + fmt.Sprintf("m%d", i), "--data-dir=" + filepath.Join(t.TempDir(), "etcd"),
			"--listen-peer-urls=http://" + toPeers[i].target, "--initial-advertise-peer-urls=http://" + toPeers[i].address(),
			"--listen-client-urls=http://" + clients[i], "--advertise-client-urls=http://" + clients[i],
			"--initial-cluster=" + strings.Join(cluster, ","), "--initial-cluster-state=new",
		}})
	}
	run(t, etcds...)
	certificates := filepath.Join(t.TempDir(), "pki")
	var configs []*rest.Config
	for i := range replicas {
		var addresses []string
		for _, client := range clients {
			l := newLink(t, client)
			toMembers = append(toMembers, l)
			addresses = append(addresses, "http://"+l.address())
		}
		p, l, config := server(t, fmt.Sprintf("server %d", i), true, "--cert-dir="+certificates, "--etcd-servers="+strings.Join(addresses, ","))
		servers, toServers, configs = append(servers, p), append(toServers, l), append(configs, config)
	}
	survive(t, 0.5, consistency.Options{Configs: configs},
		append(ends(t, "server", servers...), ends(t, "member", etcds...)...),
		append(append(faults("client to server", toServers...), faults("server to member", toMembers...)...), faults("member to member", toPeers...)...))
}
