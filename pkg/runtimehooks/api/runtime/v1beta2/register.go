package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the group of ExtensionConfig.
const Group = "runtime.cluster.x-k8s.io"

// GroupVersion returns the group version of this package.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: "v1beta2"} }

// Resource returns the resource of ExtensionConfigs.
func Resource() schema.GroupVersionResource { return GroupVersion().WithResource("extensionconfigs") }

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &ExtensionConfig{}, &ExtensionConfigList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
