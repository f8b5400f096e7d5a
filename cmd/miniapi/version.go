package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), server.Version().GitVersion)
			return err
		},
	}
}

// versionFlag is --version of kube-apiserver: true, false, or raw for all that is known.
type versionFlag string

func (v *versionFlag) String() string { return string(*v) }
func (v *versionFlag) Type() string   { return "version" }

func (v *versionFlag) Set(value string) error {
	if _, err := strconv.ParseBool(value); err != nil && value != "raw" {
		return errors.New("must be true, false or raw")
	}
	*v = versionFlag(value)
	return nil
}

// writeTo writes the version as kube-apiserver does, and says whether that was asked for.
func (v *versionFlag) writeTo(to io.Writer) bool {
	if *v == "raw" {
		fmt.Fprintf(to, "%#v\n", server.Version())
		return true
	}
	asked, _ := strconv.ParseBool(string(*v))
	if asked {
		fmt.Fprintf(to, "Kubernetes %s\n", server.Version().GitVersion)
	}
	return asked
}
