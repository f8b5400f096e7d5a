package main

// kubeFeatureGates are gates of kube-apiserver that no library of this process has.
var kubeFeatureGates = map[string]bool{}
