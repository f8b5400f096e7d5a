package server

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	auditpolicy "k8s.io/apiserver/pkg/audit/policy"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/component-base/cli/flag"

	"github.com/miniapi-dev/miniapi/pkg/server/authentication"
	"github.com/miniapi-dev/miniapi/pkg/server/authorization"
)

// validateFiles reads the files that flags name. What reads them later, reads them
// again, but its errors don't name the flag.
func (o *Options) validateFiles() []error {
	serving, etcd := o.Serving.ServerCert.CertKey, o.Etcd.StorageConfig.Transport
	errs := []error{
		checkPair("tls-cert-file", serving.CertFile, "tls-private-key-file", serving.KeyFile),
		checkPair("etcd-certfile", etcd.CertFile, "etcd-keyfile", etcd.KeyFile),
		checkPair("proxy-client-cert-file", o.ProxyClientCertFile, "proxy-client-key-file", o.ProxyClientKeyFile),
		checkPair("kubelet-client-certificate", o.Kubelet.CertFile, "kubelet-client-key", o.Kubelet.KeyFile),
		checkAuthorities("etcd-cafile", etcd.TrustedCAFile),
		checkAuthorities("kubelet-certificate-authority", o.Kubelet.CAFile),
		checkAuditPolicy(o.Audit),
		checkAuditWebhook(o.Audit),
		checkTracing(o.Tracing),
		checkEncryption(o.Etcd),
	}
	errs = append(errs, checkAuthenticationFiles(o.Authentication)...)
	errs = append(errs, checkAuthorizationFiles(o.Authorization)...)
	for _, pair := range o.Serving.SNICertKeys {
		if _, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile); err != nil {
			errs = append(errs, fmt.Errorf("--tls-sni-cert-key %s,%s: %w", pair.CertFile, pair.KeyFile, err))
		}
	}
	return errs
}

// checkPair checks a certificate and its key, each the value of a flag.
func checkPair(certFlag, certFile, keyFlag, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return nil
	}
	if certFile == "" || keyFile == "" {
		return fmt.Errorf("--%s and --%s must be given together", certFlag, keyFlag)
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		return fmt.Errorf("--%s %s and --%s %s: %w", certFlag, certFile, keyFlag, keyFile, err)
	}
	return nil
}

func checkAuthorities(flag, file string) error {
	if err := checkReadable(flag, file); err != nil || !rereadable(file) {
		return err
	}
	if _, err := certutil.CertsFromFile(file); err != nil {
		return fmt.Errorf("--%s %s: must be a file of PEM encoded certificates: %w", flag, file, err)
	}
	return nil
}

func checkAuditPolicy(o *genericoptions.AuditOptions) error {
	if o == nil || o.PolicyFile == "" {
		return nil
	}
	if _, err := auditpolicy.LoadPolicyFromFile(o.PolicyFile); err != nil {
		return fmt.Errorf("--audit-policy-file %s: %w", o.PolicyFile, err)
	}
	return nil
}

// checkAuditWebhook leaves out what isn't read: without a policy there are no events.
func checkAuditWebhook(o *genericoptions.AuditOptions) error {
	if o == nil || o.PolicyFile == "" {
		return nil
	}
	return checkReadable("audit-webhook-config-file", o.WebhookOptions.ConfigFile)
}

func checkTracing(o *genericoptions.TracingOptions) error {
	if o == nil || o.ConfigFile == "" {
		return nil
	}
	if _, err := genericoptions.ReadTracingConfiguration(o.ConfigFile); err != nil {
		return fmt.Errorf("--tracing-config-file %s: %w", o.ConfigFile, err)
	}
	return nil
}

func checkAuthenticationFiles(o *authentication.Options) []error {
	if o == nil {
		return nil
	}
	errs := []error{
		checkAuthorities("client-ca-file", o.ClientCAFile),
		checkAuthorities("requestheader-client-ca-file", o.RequestHeader.ClientCAFile),
		checkReadable("oidc-ca-file", o.OIDC.CAFile),
		checkReadable("token-auth-file", o.TokenFile),
		checkReadable("authentication-config", o.ConfigFile),
		checkReadable("authentication-token-webhook-config-file", o.Webhook.ConfigFile),
		checkReadable("service-account-signing-key-file", o.ServiceAccounts.SigningKeyFile),
	}
	for _, file := range o.ServiceAccounts.KeyFiles {
		errs = append(errs, checkReadable("service-account-key-file", file))
	}
	// It would repeat what is wrong with the flags and the files themselves.
	source, wrong := cmp.Or(o.ConfigFile, o.OIDC.CAFile), append(o.Validate(), errs...)
	if (source == "" || rereadable(source)) && errors.Join(wrong...) == nil {
		errs = append(errs, o.ValidateConfiguration())
	}
	return errs
}

// checkEncryption reads the file without starting what is in there, as the library does when it loads it.
func checkEncryption(o *genericoptions.EtcdOptions) error {
	file := o.EncryptionProviderConfigFilepath
	if err := checkReadable("encryption-provider-config", file); err != nil || !rereadable(file) {
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

func checkAuthorizationFiles(o *authorization.Options) []error {
	if o == nil {
		return nil
	}
	return []error{
		checkReadable("authorization-policy-file", o.PolicyFile),
		checkReadable("authorization-webhook-config-file", o.Webhook.ConfigFile),
	}
}

// rereadable says that a file isn't a pipe, which can be read once.
func rereadable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// checkReadable leaves what is in a file to what reads it later, and a pipe, as a shell's <(...) is one, altogether:
// it can be read once.
func checkReadable(flag, file string) error {
	if file == "" {
		return nil
	}
	info, err := os.Stat(file)
	if err == nil && (info.Mode().IsRegular() || info.IsDir()) {
		_, err = os.ReadFile(file)
	}
	if err != nil {
		return fmt.Errorf("--%s %s: %w", flag, file, err)
	}
	return nil
}

// validateServing checks what is otherwise found out when the port is taken already.
func (o *Options) validateServing() []error {
	errs := reworded(o.Serving.Validate())
	if _, err := flag.TLSVersion(o.Serving.MinTLSVersion); err != nil {
		errs = append(errs, fmt.Errorf("--tls-min-version %s: must be one of %v: %w", o.Serving.MinTLSVersion, flag.TLSPossibleVersions(), err))
	}
	if _, err := flag.TLSCipherSuites(o.Serving.CipherSuites); err != nil {
		errs = append(errs, fmt.Errorf("--tls-cipher-suites: %w", err))
	}
	if _, err := flag.TLSCurvePreferences(o.Serving.CurvePreferences); err != nil {
		errs = append(errs, fmt.Errorf("--tls-curve-preferences: %w", err))
	}
	return errs
}
