module github.com/miniapi-dev/miniapi/test/sampleapiserver

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	k8s.io/api v0.37.2
	k8s.io/apimachinery v0.37.2
	k8s.io/client-go v0.37.2
	k8s.io/kube-aggregator v0.37.2
	k8s.io/metrics v0.37.2
	k8s.io/sample-apiserver v0.37.2
)
