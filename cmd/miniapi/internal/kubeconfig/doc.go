// Package kubeconfig writes the admin's kubeconfig of "miniapi serve", and reads the kubeconfig of a running server for
// other commands.
package kubeconfig
