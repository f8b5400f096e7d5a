package service

import (
	"bytes"
	"context"
	_ "embed"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// recordedPorts is the value of /registry/ranges/servicenodeports that kube-apiserver 1.37.2 has stored for the ports
// 30000 and 30009.
//
//go:embed testdata/servicenodeports.pb
var recordedPorts []byte

// TestStoredPorts checks that the node ports are stored as kube-apiserver stores them.
func TestStoredPorts(t *testing.T) {
	t.Parallel()
	obj, _, err := table().Codecs().UniversalDeserializer().Decode(recordedPorts, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	recorded := obj.(*corev1.RangeAllocation)
	ledger := &portLedger{ports: utilnet.PortRange{Base: 30000, Size: 2768}}
	allocated, err := ledger.allocated(t.Context(), recorded)
	if err != nil || allocated.Bit(0) != 1 || allocated.Bit(9) != 1 || allocated.BitLen() != 10 {
		t.Errorf("want the ports 30000 and 30009 read, got %b, %v", allocated, err)
	}
	info, _ := runtime.SerializerInfoForMediaType(table().Codecs().SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	var written bytes.Buffer
	if err := table().Codecs().EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion).Encode(
		&corev1.RangeAllocation{Range: ledger.ports.String(), Data: allocated.Bytes()}, &written); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written.Bytes(), recordedPorts) {
		t.Errorf("written:\n%q\nwant:\n%q", written.Bytes(), recordedPorts)
	}
}

// TestPortsOfAnotherServer checks the ports that another server has allocated.
func TestPortsOfAnotherServer(t *testing.T) {
	t.Parallel()
	member := registrytest.Start(t)
	here, there := newServices(t, member, "10.0.0.0/24"), newServices(t, member, "10.0.0.0/24")
	asking := func(spec *corev1.ServiceSpec) { spec.Ports[0].NodePort = 30007 }
	if err := there.portStore.add(t.Context(), "30007", types.NamespacedName{}); err != nil {
		t.Fatal(err)
	}
	if _, err := here.create(service("a", corev1.ServiceTypeNodePort, asking)); err == nil {
		t.Error("a port is given twice")
	}
	// Nobody has written a service with the port for a time that no request takes.
	here.allocator.ports.unused.Store("30007", time.Now().Add(-time.Hour))
	here.mustCreate(service("a", corev1.ServiceTypeNodePort, asking))
	if _, err := there.create(service("b", corev1.ServiceTypeNodePort, asking)); err == nil {
		t.Error("an abandoned port is given twice")
	}
}

// TestPortsOfAnotherRange checks that services keep their ports when the range changes, and when the record is lost.
func TestPortsOfAnotherRange(t *testing.T) {
	t.Parallel()
	s := newServices(t, registrytest.Start(t), "10.0.0.0/24")
	s.mustCreate(service("a", corev1.ServiceTypeNodePort, func(spec *corev1.ServiceSpec) { spec.Ports[0].NodePort = 30007 }))
	wider := &portLedger{options: s.portStore.options, ports: utilnet.PortRange{Base: 30000, Size: 100}, services: s.portStore.services}
	t.Cleanup(wider.close)
	ctx := context.Background()
	if err := wider.add(ctx, "30090", types.NamespacedName{}); err != nil {
		t.Fatal(err)
	}
	if err := wider.add(ctx, "30007", types.NamespacedName{}); err == nil {
		t.Error("a port of a service is free in another range")
	}
	if held := s.held(); slices.Contains(held, "30007") {
		t.Errorf("a server with the old range reads the new one: %v", held)
	}
}
