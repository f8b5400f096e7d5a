package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Command is the annotation of a pod whose container runs as a process. Its value stands in place of the image and of the
// container's command: it is a JSON array of words, or a line with words and quotes as in a shell. The container's args
// follow these words. The annotation is for the pod's default container. With the name of a container behind a dot, as in
// miniapi.dev/command.web, it is for that one.
const Command = "miniapi.dev/command"

// defaultContainer is kubectl's annotation for the container that commands mean without a name.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// CommandOf returns the value of the annotation for a container.
func CommandOf(pod *corev1.Pod, container string) (string, bool) {
	if line, ok := pod.Annotations[Command+"."+container]; ok {
		return line, true
	}
	line, ok := pod.Annotations[Command]
	return line, ok && container == defaultOf(pod)
}

// defaultOf returns the name of a pod's default container, as kubectl chooses it.
func defaultOf(pod *corev1.Pod) string {
	if name := pod.Annotations[defaultContainer]; name != "" {
		return name
	}
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[0].Name
}

// Runs reports whether a container of a pod runs as a process.
func Runs(pod *corev1.Pod) bool {
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if _, ok := CommandOf(pod, c.Name); ok {
			return true
		}
	}
	return false
}

// Words returns the words of the annotation Command.
func Words(line string) ([]string, error) {
	var words []string
	var err error
	if strings.HasPrefix(strings.TrimSpace(line), "[") {
		err = json.Unmarshal([]byte(line), &words)
	} else {
		words, err = split(line)
	}
	if err == nil && (len(words) == 0 || words[0] == "") {
		err = errors.New("must begin with a program")
	}
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %q: %w", Command, line, err)
	}
	return words, nil
}

// split splits a line into words, as a shell does. A backslash quotes a character, except between single quotes. Nothing
// is expanded.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	var inWord, escaped bool
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			inWord, quote = true, r
		case strings.ContainsRune(" \t\r\n", r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("the quote %c isn't closed", quote)
	case escaped:
		return nil, errors.New("nothing follows the last backslash")
	case inWord:
		words = append(words, word.String())
	}
	return words, nil
}
