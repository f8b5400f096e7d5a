package registry

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
)

// networking is how traffic reaches pods and services.
var networking = Group{
	Name: "networking.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: networkingv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: networkingv1beta1.AddToScheme, OnDemand: true},
	},
	Kinds: []Kind{
		{
			Resource:   "ingresses",
			ShortNames: []string{"ing"},
			Namespaced: true,
			Object:     &networkingv1.Ingress{}, List: &networkingv1.IngressList{},
			StoragePrefix: "ingress",
			Status:        true,
			Generation:    true,
		},
		{
			Resource: "ingressclasses",
			Object:   &networkingv1.IngressClass{}, List: &networkingv1.IngressClassList{},
			Generation: true,
		},
		{
			Resource:   "networkpolicies",
			ShortNames: []string{"netpol"},
			Namespaced: true,
			Object:     &networkingv1.NetworkPolicy{}, List: &networkingv1.NetworkPolicyList{},
			Generation: true,
		},
		{
			Resource:   "ipaddresses",
			ShortNames: []string{"ip"},
			Object:     &networkingv1.IPAddress{}, List: &networkingv1.IPAddressList{},
			Generation: true,
		},
		{
			Resource: "servicecidrs",
			Object:   &networkingv1.ServiceCIDR{}, List: &networkingv1.ServiceCIDRList{},
			Status:     true,
			Generation: true,
		},
	},
}
