// Package environment computes the command line and the environment variables of a container that runs as a process: the
// annotation [Command], "env" and "envFrom" with ConfigMaps, Secrets, fields and resources of the pod, and references of
// the form $(NAME).
package environment
