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

// configuration is what a file of --admission-control-config-file says of each plugin. It is read as
// a whole: the library's reader ends the process when a file that is named in it can't be read.
type configuration struct {
	plugins map[string]pluginConfiguration
}

type pluginConfiguration struct {
	// file is where the content is from, for error messages.
	file    string
	content []byte
}

// legacyConfigurations are the plugins whose configuration may be the file itself, told by a key.
var legacyConfigurations = map[string]string{
	"imagePolicy":                 "ImagePolicyWebhook",
	"podNodeSelectorPluginConfig": "PodNodeSelector",
}

// readConfiguration reads an AdmissionConfiguration (apiserver.config.k8s.io/v1 or
// apiserver.k8s.io/v1alpha1) and the files that it names. An empty path is an empty configuration.
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
		return nil, fmt.Errorf("--admission-control-config-file: %s is not an admission configuration: %w", path, err)
	}
	admission, ok := decoded.(*apiserver.AdmissionConfiguration)
	if !ok {
		return nil, fmt.Errorf("--admission-control-config-file: %s is not an admission configuration: unexpected type: %T", path, decoded)
	}

	for _, plugin := range admission.Plugins {
		if _, ok := c.plugins[plugin.Name]; ok {
			continue // the first counts
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

// renamedConfiguration gives the configuration of webhooks that was called WebhookAdmission, of
// v1alpha1, its name of today. The library no longer knows the other; the fields are the same.
func renamedConfiguration(content []byte) []byte {
	fields := map[string]any{}
	if err := yaml.Unmarshal(content, &fields); err != nil {
		return content // the plugin says what is wrong
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

// legacyConfiguration recognizes the two configurations that were files of their own before there
// was an AdmissionConfiguration. decodeErr is why the content isn't one.
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
