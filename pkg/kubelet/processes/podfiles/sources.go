package podfiles

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
)

// Cluster has what the volumes of pods need from the server.
type Cluster interface {
	environment.Objects
	// Token returns a token of the pod's service account.
	Token(ctx context.Context, pod *corev1.Pod, spec authenticationv1.TokenRequestSpec) (*authenticationv1.TokenRequestStatus, error)
}

// defaultMode is the mode of a file without another one.
const defaultMode = 0o644

// source reads the files of one source of a volume.
type source struct {
	cluster Cluster
	pod     environment.Pod
	mode    *int32
	tokens  *tokens
}

// of returns the files of the source that a projection names.
func (s source) of(ctx context.Context, p corev1.VolumeProjection) (map[string]File, error) {
	switch {
	case p.ConfigMap != nil:
		return s.configMap(ctx, p.ConfigMap.Name, p.ConfigMap.Items, p.ConfigMap.Optional)
	case p.Secret != nil:
		return s.secret(ctx, p.Secret.Name, p.Secret.Items, p.Secret.Optional)
	case p.DownwardAPI != nil:
		return s.downward(p.DownwardAPI.Items)
	case p.ServiceAccountToken != nil:
		token, err := s.tokens.get(ctx, s.cluster, s.pod.Pod, *p.ServiceAccountToken)
		return map[string]File{p.ServiceAccountToken.Path: {[]byte(token), s.modeOf(nil)}}, err
	}
	return nil, fmt.Errorf("a projection must be a configMap, a secret, downwardAPI or a serviceAccountToken")
}

func (s source) modeOf(own *int32) fs.FileMode {
	switch {
	case own != nil:
		return fs.FileMode(*own)
	case s.mode != nil:
		return fs.FileMode(*s.mode)
	}
	return defaultMode
}

func (s source) configMap(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool) (map[string]File, error) {
	found, err := s.cluster.ConfigMap(ctx, s.pod.Namespace, name)
	if err != nil {
		return nil, unlessOptional(err, optional)
	}
	data := maps.Clone(found.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, text := range found.Data {
		data[key] = []byte(text)
	}
	return s.keys(data, items, optional, "config")
}

func (s source) secret(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool) (map[string]File, error) {
	found, err := s.cluster.Secret(ctx, s.pod.Namespace, name)
	if err != nil {
		return nil, unlessOptional(err, optional)
	}
	return s.keys(found.Data, items, optional, "secret")
}

// unlessOptional returns an error, unless it says that an optional object doesn't exist.
func unlessOptional(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}

// keys returns the files of the items, or of all keys without items.
func (s source) keys(data map[string][]byte, items []corev1.KeyToPath, optional *bool, kind string) (map[string]File, error) {
	files := map[string]File{}
	if len(items) == 0 {
		for key, content := range data {
			files[key] = File{content, s.modeOf(nil)}
		}
	}
	for _, item := range items {
		content, ok := data[item.Key]
		if !ok {
			if optional != nil && *optional {
				continue
			}
			return nil, fmt.Errorf("references non-existent %s key: %s", kind, item.Key)
		}
		files[item.Path] = File{content, s.modeOf(item.Mode)}
	}
	return files, nil
}

func (s source) downward(items []corev1.DownwardAPIVolumeFile) (map[string]File, error) {
	files := map[string]File{}
	for _, item := range items {
		var value string
		var err error
		if item.FieldRef != nil {
			value, err = s.pod.Field(item.FieldRef.FieldPath)
		} else if item.ResourceFieldRef != nil {
			value, err = s.pod.Resource(item.ResourceFieldRef, &corev1.Container{})
		}
		if err != nil {
			return nil, err
		}
		files[item.Path] = File{[]byte(value), s.modeOf(item.Mode)}
	}
	return files, nil
}

// tokens has the tokens of a pod, by the paths and audiences that ask for them.
type tokens struct {
	of map[corev1.ServiceAccountTokenProjection]token
}

type token struct {
	value string
	renew time.Time
}

// get returns a token, a new one if a fifth of the time of the last one is left.
func (t *tokens) get(ctx context.Context, cluster Cluster, pod *corev1.Pod, p corev1.ServiceAccountTokenProjection) (string, error) {
	key := corev1.ServiceAccountTokenProjection{Audience: p.Audience, Path: p.Path}
	if known, ok := t.of[key]; ok && time.Now().Before(known.renew) {
		return known.value, nil
	}
	spec := authenticationv1.TokenRequestSpec{ExpirationSeconds: p.ExpirationSeconds}
	if p.Audience != "" {
		spec.Audiences = []string{p.Audience}
	}
	issued, err := cluster.Token(ctx, pod, spec)
	if err != nil {
		return "", fmt.Errorf("failed to fetch token: %w", err)
	}
	life := time.Until(issued.ExpirationTimestamp.Time)
	t.of[key] = token{issued.Token, time.Now().Add(life * 4 / 5)}
	return issued.Token, nil
}

// renewal returns the time at which the next token has to be renewed, or false without a token.
func (t *tokens) renewal() (time.Time, bool) {
	var next time.Time
	for _, known := range t.of {
		if next.IsZero() || known.renew.Before(next) {
			next = known.renew
		}
	}
	return next, !next.IsZero()
}
