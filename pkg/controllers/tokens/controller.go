// Package tokens is the controller serviceaccount-token-controller: it writes tokens into Secrets of the type
// kubernetes.io/service-account-token, and deletes such Secrets when their service account is deleted.
//
// [New] makes the controller. Pods don't need these Secrets: they get tokens by the TokenRequest API.
package tokens

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const name = "serviceaccount-token-controller"

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.CoreV1Interface
	// RootCA has the certificates by which clients verify the API server, in PEM.
	RootCA []byte
	// Token signs a token of a service account for a Secret.
	Token func(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error)
}

// key identifies a Secret or a service account.
type key struct {
	namespace, name string
	uid             types.UID
}

// Controller writes tokens of service accounts into Secrets, and deletes the Secrets of deleted accounts. It must
// get the events of all Secrets and service accounts.
type Controller struct {
	Config
	secrets, accounts *work.Queue[key]

	mu sync.Mutex
	// filled maps each Secret with a token to its service account.
	filled map[types.UID]key
}

var _ objects.Handler = &Controller{}

// New returns a controller. It must get the events of all Secrets and service accounts.
func New(config Config) *Controller {
	c := &Controller{Config: config, filled: map[types.UID]key{}}
	c.secrets = work.NewQueue(config.Runner, work.Options[key]{Name: name, Workers: 5, Do: c.fill})
	c.accounts = work.NewQueue(config.Runner, work.Options[key]{Name: name, Workers: 5, Do: c.deleteTokens})
	return c
}

var (
	secretKind  = corev1.SchemeGroupVersion.WithKind("Secret")
	accountKind = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
)

// Stored implements objects.Handler.
func (c *Controller) Stored(o objects.Object) {
	if o.Kind == secretKind {
		c.secrets.Add(key{o.Namespace, o.Name, o.UID})
	}
}

// Deleted implements objects.Handler.
func (c *Controller) Deleted(o objects.Object) {
	switch o.Kind {
	case accountKind:
		c.accounts.Add(key{o.Namespace, o.Name, o.UID})
	case secretKind:
		c.secrets.Add(key{o.Namespace, o.Name, o.UID})
	}
}

// Listed implements objects.Handler.
func (c *Controller) Listed(sets.Set[types.UID]) {}

// accountOf returns the service account with the key, or nil if it doesn't exist.
func (c *Controller) accountOf(ctx context.Context, k key) (*corev1.ServiceAccount, error) {
	account, err := c.Client.ServiceAccounts(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && k.uid != "" && k.uid != account.UID {
		return nil, nil
	}
	return account, err
}

// named returns the key of the service account that a Secret names in its annotations.
func named(secret *corev1.Secret) key {
	return key{secret.Namespace, secret.Annotations[corev1.ServiceAccountNameKey], types.UID(secret.Annotations[corev1.ServiceAccountUIDKey])}
}

// fill writes a token into a Secret of the type kubernetes.io/service-account-token. If the Secret's service account
// doesn't exist, fill deletes the Secret. If the Secret doesn't exist, fill removes it from the list in its service
// account.
func (c *Controller) fill(ctx context.Context, k key) (time.Duration, error) {
	secrets := c.Client.Secrets(k.namespace)
	secret, err := secrets.Get(ctx, k.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && secret.UID != k.uid:
		return 0, c.unreference(ctx, k)
	case err != nil:
		return 0, err
	}
	named := named(secret)
	if secret.Type != corev1.SecretTypeServiceAccountToken || named.name == "" {
		return 0, nil
	}
	c.mu.Lock()
	c.filled[k.uid] = named
	c.mu.Unlock()
	account, err := c.accountOf(ctx, named)
	if err != nil {
		return 0, err
	}
	if account == nil {
		return 0, c.delete(ctx, k)
	}
	if changed, err := c.complete(account, secret); err != nil || !changed {
		return 0, err
	}
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return 0, nil // the change of the Secret has an event of its own
	}
	return 0, err
}

// complete adds missing data to a Secret with a token, and replaces an outdated ca.crt. The result changed is
// true if complete has changed the Secret.
func (c *Controller) complete(account *corev1.ServiceAccount, secret *corev1.Secret) (changed bool, err error) {
	data := map[string][]byte{}
	if len(c.RootCA) > 0 && !bytes.Equal(secret.Data[corev1.ServiceAccountRootCAKey], c.RootCA) {
		data[corev1.ServiceAccountRootCAKey] = c.RootCA
	}
	if len(secret.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		data[corev1.ServiceAccountNamespaceKey] = []byte(secret.Namespace)
	}
	if len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := c.Token(account, secret)
		if err != nil {
			return false, err
		}
		data[corev1.ServiceAccountTokenKey] = []byte(token)
	}
	if len(data) == 0 {
		return false, nil
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for name, value := range data {
		secret.Data[name] = value
	}
	secret.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	return true, nil
}

// delete deletes a Secret, unless another Secret has taken its name.
func (c *Controller) delete(ctx context.Context, k key) error {
	err := c.Client.Secrets(k.namespace).Delete(ctx, k.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &k.uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// unreference removes a deleted Secret from the list of secrets in its service account.
func (c *Controller) unreference(ctx context.Context, k key) error {
	c.mu.Lock()
	named, known := c.filled[k.uid]
	c.mu.Unlock()
	if !known {
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		account, err := c.accountOf(ctx, named)
		if err != nil || account == nil {
			return err
		}
		isIt := func(r corev1.ObjectReference) bool { return r.Name == k.name }
		if !slices.ContainsFunc(account.Secrets, isIt) {
			return nil
		}
		account.Secrets = slices.DeleteFunc(account.Secrets, isIt)
		_, err = c.Client.ServiceAccounts(k.namespace).Update(ctx, account, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	c.mu.Lock()
	delete(c.filled, k.uid)
	c.mu.Unlock()
	return nil
}

// deleteTokens deletes the Secrets with tokens of a deleted service account.
func (c *Controller) deleteTokens(ctx context.Context, k key) (time.Duration, error) {
	ofTokens := fields.OneTermEqualSelector("type", string(corev1.SecretTypeServiceAccountToken)).String()
	secrets, err := c.Client.Secrets(k.namespace).List(ctx, metav1.ListOptions{FieldSelector: ofTokens})
	if err != nil {
		return 0, err
	}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if of := named(secret); of.name != k.name || of.uid != "" && of.uid != k.uid {
			continue
		}
		if err := c.delete(ctx, key{secret.Namespace, secret.Name, secret.UID}); err != nil {
			return 0, err
		}
	}
	return 0, nil
}
