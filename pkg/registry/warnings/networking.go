package warnings

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Peers warns of the ranges of addresses of peers.
func (l *List) Peers(path *field.Path, peers []networkingv1.NetworkPolicyPeer) {
	for i, peer := range peers {
		if peer.IPBlock == nil {
			continue
		}
		block := path.Index(i).Child("ipBlock")
		l.Cidr(block.Child("cidr"), peer.IPBlock.CIDR)
		for j, except := range peer.IPBlock.Except {
			l.Cidr(block.Child("except").Index(j), except)
		}
	}
}
