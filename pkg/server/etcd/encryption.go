package etcd

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// CheckEncryption checks the file of --encryption-provider-config, but doesn't read a pipe. The check of
// k8s.io/apiserver also starts the providers of keys; CheckEncryption starts nothing.
func CheckEncryption(o *genericoptions.EtcdOptions) error {
	file := o.EncryptionProviderConfigFilepath
	if err := files.Readable("encryption-provider-config", file); err != nil || !files.Rereadable(file) {
		return err
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = validateEncryption(data, o.EncryptionProviderConfigAutomaticReload)
	}
	if err != nil {
		return fmt.Errorf("--encryption-provider-config %s: %w", file, err)
	}
	return nil
}

func validateEncryption(data []byte, reload bool) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(apiserver.AddToScheme(scheme), apiserverv1.AddToScheme(scheme)); err != nil {
		return err
	}
	object, kind, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return err
	}
	config, ok := object.(*apiserver.EncryptionConfiguration)
	if !ok {
		return fmt.Errorf("must be an EncryptionConfiguration of %s, and is a %s of %s", apiserverv1.SchemeGroupVersion, kind.Kind, kind.GroupVersion())
	}
	return validation.ValidateEncryptionConfiguration(config, reload).ToAggregate()
}
