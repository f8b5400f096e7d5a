package admission

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"sigs.k8s.io/yaml"
)

// configuration holds the configurations of the plugins, from the file of --admission-control-config-file.
// readConfiguration reads this file and all files that it names. k8s.io/apiserver would read the named files later, and
// end the process if it can't read one of them.
type configuration struct {
	plugins map[string]pluginConfiguration
}

type pluginConfiguration struct {
	// file is the path from which the content comes, for error messages.
	file    string
	content []byte
}

// legacyConfigurations are the two plugins whose configuration may be the whole file of
// --admission-control-config-file. The key is the field by which the plugin's configuration is recognized, and the
// value is the name of the plugin.
var legacyConfigurations = map[string]string{
	"imagePolicy":                 "ImagePolicyWebhook",
	"podNodeSelectorPluginConfig": "PodNodeSelector",
}

// readConfiguration reads an AdmissionConfiguration (apiserver.config.k8s.io/v1 or apiserver.k8s.io/v1alpha1) and the
// files that it names. An empty path gives an empty configuration.
func readConfiguration(path string) (*configuration, error) {
	c := &configuration{plugins: map[string]pluginConfiguration{}}
	if path == "" {
		return c, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file: %w", err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoded, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), content)
	if err != nil {
		if plugin, ok := legacyConfiguration(content, err); ok {
			c.plugins[plugin] = pluginConfiguration{file: path, content: content}
			return c, nil
		}
		return nil, fmt.Errorf("--admission-control-config-file: %s must be an AdmissionConfiguration of apiserver.config.k8s.io/v1: %w", path, err)
	}
	admission, ok := decoded.(*apiserver.AdmissionConfiguration)
	if !ok {
		return nil, fmt.Errorf("--admission-control-config-file: %s must be an AdmissionConfiguration of apiserver.config.k8s.io/v1, got %T", path, decoded)
	}

	for _, plugin := range admission.Plugins {
		if _, ok := c.plugins[plugin.Name]; ok {
			continue // the first entry with a configuration of the plugin counts
		}
		switch {
		case plugin.Configuration != nil:
			c.plugins[plugin.Name] = pluginConfiguration{file: path, content: plugin.Configuration.Raw}
		case plugin.Path != "":
			file := plugin.Path
			if !filepath.IsAbs(file) {
				file = filepath.Join(filepath.Dir(path), file)
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("--admission-control-config-file: %s: plugin %s: %w", path, plugin.Name, err)
			}
			c.plugins[plugin.Name] = pluginConfiguration{file: file, content: content}
		}
	}
	for name, plugin := range c.plugins {
		plugin.content = renamedConfiguration(plugin.content)
		c.plugins[name] = plugin
	}
	return c, nil
}

// renamedConfiguration replaces the kind WebhookAdmission of version v1alpha1 by the kind WebhookAdmissionConfiguration
// of version v1, which has the same fields. k8s.io/apiserver doesn't accept the old kind. Any other content stays
// unchanged.
func renamedConfiguration(content []byte) []byte {
	fields := map[string]any{}
	if err := yaml.Unmarshal(content, &fields); err != nil {
		return content // the plugin reports the error
	}
	if fields["apiVersion"] != "apiserver.config.k8s.io/v1alpha1" || fields["kind"] != "WebhookAdmission" {
		return content
	}
	fields["apiVersion"], fields["kind"] = "apiserver.config.k8s.io/v1", "WebhookAdmissionConfiguration"
	renamed, err := yaml.Marshal(fields)
	if err != nil {
		return content
	}
	return renamed
}

// legacyConfiguration recognizes a file that is the configuration of one of two plugins, without an
// AdmissionConfiguration around it (see legacyConfigurations). decodeErr is the error of decoding the content as
// an AdmissionConfiguration.
func legacyConfiguration(content []byte, decodeErr error) (plugin string, ok bool) {
	if !runtime.IsMissingVersion(decodeErr) && !runtime.IsMissingKind(decodeErr) && !runtime.IsNotRegisteredError(decodeErr) {
		return "", false
	}
	keys := map[string]any{}
	if err := yaml.Unmarshal(content, &keys); err != nil {
		return "", false
	}
	for key, plugin := range legacyConfigurations {
		if _, ok := keys[key]; ok {
			return plugin, true
		}
	}
	return "", false
}

// ConfigFor implements admission.ConfigProvider.
func (c *configuration) ConfigFor(plugin string) (io.Reader, error) {
	if p, ok := c.plugins[plugin]; ok {
		return bytes.NewReader(p.content), nil
	}
	return nil, nil
}
