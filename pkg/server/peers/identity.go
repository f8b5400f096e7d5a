package peers

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// This label marks the Leases of API servers. kube-apiserver has the same label and value.
const (
	identityLabel = "apiserver.kubernetes.io/identity"
	identity      = "kube-apiserver"
)

// The times of a Lease are the same as in kube-apiserver, because miniapi and kube-apiserver can be peers.
const (
	identityDuration = time.Hour
	identityRenewal  = 10 * time.Second
	collectionPeriod = time.Hour
)

// ServerID returns the name of a server among its peers, in the form of kube-apiserver's names. kube-apiserver derives
// the name from the host name only. ServerID also uses the address, because several servers of miniapi may run on one
// host.
func ServerID(host, address string) string {
	hash := sha256.Sum256([]byte(host + "/" + address))
	return "apiserver-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(hash[:16]))
}

// newIdentity returns a controller that renews the Lease of a server. An annotation of the Lease shows the server's
// address to people.
func newIdentity(client kubernetes.Interface, serverID, address string) (lease.Controller, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading the host name of this server: %w", err)
	}
	holder := serverID + "_" + uuid.NewString()
	describe := func(l *coordinationv1.Lease) error {
		metav1.SetMetaDataLabel(&l.ObjectMeta, identityLabel, identity)
		metav1.SetMetaDataLabel(&l.ObjectMeta, corev1.LabelHostname, host)
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, corev1.AnnotationPeerAdvertiseAddress, address)
		return nil
	}
	return lease.NewController(clock.RealClock{}, client, holder, int32(identityDuration/time.Second), nil,
		identityRenewal, serverID, metav1.NamespaceSystem, describe), nil
}

// collect deletes the Leases of servers that have ended without deleting their Lease.
func collect(ctx context.Context, client kubernetes.Interface, now time.Time) {
	leases := client.CoordinationV1().Leases(metav1.NamespaceSystem)
	list, err := leases.List(ctx, metav1.ListOptions{LabelSelector: identityLabel + "=" + identity})
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "the Leases of servers that have ended stay")
		}
		return
	}
	for i := range list.Items {
		l := &list.Items[i]
		if !expired(l, now) {
			continue
		}
		// The deletion must fail if the server renews the Lease at this moment.
		preconditions := &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}
		err := leases.Delete(ctx, l.Name, metav1.DeleteOptions{Preconditions: preconditions})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "the Lease of a server that has ended stays", "lease", klog.KObj(l))
		}
	}
}

// expired tells whether a Lease was not renewed in time. A Lease without times is expired.
func expired(l *coordinationv1.Lease, now time.Time) bool {
	renewed, duration := l.Spec.RenewTime, ptr.Deref(l.Spec.LeaseDurationSeconds, 0)
	return renewed == nil || renewed.Add(time.Duration(duration)*time.Second).Before(now)
}
