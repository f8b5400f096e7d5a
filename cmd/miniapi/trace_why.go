package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/complete"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/traceclient"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// whyOptions are the flags of "miniapi trace why".
type whyOptions struct {
	*traceOptions
	dryRun      bool
	file        string
	operation   string
	subresource string
	as          string
	groups      []string
	output      output.Format
}

func newTraceWhyCommand(parent *traceOptions) *cobra.Command {
	o := &whyOptions{traceOptions: parent}
	cmd := &cobra.Command{
		Use:   "why KIND/NAME[/PART] RESOURCE/NAME [flags]",
		Short: "Say why a webhook or a policy was asked about an object, or wasn't",
		Long: `Say why the webhooks of a MutatingWebhookConfiguration or ValidatingWebhookConfiguration were
called for an object or not, in a sentence that names the field that decides. The same for a
MutatingAdmissionPolicy or ValidatingAdmissionPolicy: why it applied, refused, or did neither.
PART is a webhook of the configuration, or a binding of the policy.

The answer is about the last request for the object that the server remembers (--trace-requests).
If it remembers none, the answer says what would happen if the object was created as it is.
With --dry-run -f, the answer is about a request that wasn't made. Neither calls a webhook.

    miniapi trace why ValidatingWebhookConfiguration/my-webhook pods/web
    miniapi trace why ValidatingAdmissionPolicy/my-policy deployments/web
    miniapi trace why MutatingWebhookConfiguration/my-webhook --dry-run -f pod.yaml --as alice`,
		Args: cli.UsageArgs(whyArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return complete.Asked(&o.kubeconfig)(cmd, args, typed)
			case len(args) == 1 && !o.dryRun:
				return complete.Object(&o.kubeconfig, &o.namespace, false)(cmd, args, typed)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.dryRun, "dry-run", false, "Answer for a request that isn't made; -f has its object.")
	flags.StringVarP(&o.file, "filename", "f", "", "Manifest `FILE` of the object for --dry-run; - reads it from standard input.")
	flags.StringVar(&o.operation, "operation", "", "`OPERATION` for --dry-run: CREATE, UPDATE, DELETE or CONNECT. The default is CREATE.")
	flags.StringVar(&o.subresource, "subresource", "", "Subresource `NAME` for --dry-run: status or scale of an UPDATE, exec of a CONNECT.")
	flags.StringVar(&o.as, "as", "", "`USER` that makes the request of --dry-run. By default, that of the kubeconfig.")
	flags.StringSliceVar(&o.groups, "as-group", nil, "`GROUPS` of the user of --as.")
	o.output.AddFlag(cmd, "Format: json or yaml has the answer in parts.", output.JSON, output.YAML)
	// RegisterFlagCompletionFunc fails only for unknown flags.
	_ = cmd.RegisterFlagCompletionFunc("operation", cobra.FixedCompletions([]string{"CREATE", "UPDATE", "DELETE", "CONNECT"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// whyArgs requires one or two arguments of "miniapi trace why". The method check requires the second argument unless
// --dry-run is set.
func whyArgs(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("the first argument must name a configuration or a policy: KIND/NAME, such as ValidatingWebhookConfiguration/my-webhook")
	case len(args) > 2:
		return fmt.Errorf("argument %q: there must be two arguments, KIND/NAME and RESOURCE/NAME", args[2])
	}
	return nil
}

func (o *whyOptions) run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if err := o.check(args); err != nil {
		return cli.UsageError{Err: err}
	}
	server, err := o.kubeconfig.Server()
	if err != nil {
		return err
	}
	client := traceclient.New(server)
	if o.dryRun {
		evaluation, err := o.evaluation(args[0], server.Namespace, in)
		if err != nil {
			return err
		}
		why, err := client.Evaluate(ctx, evaluation)
		if err != nil {
			return usage(err)
		}
		return o.show(out, why)
	}
	object, err := traceclient.ParseObject(args[1], cmp.Or(o.namespace, server.Namespace))
	if err != nil || object.Name == "" {
		return cli.UsageError{Err: fmt.Errorf("argument %q: must be RESOURCE/NAME, such as pods/web, or RESOURCE/NAMESPACE/NAME", args[1])}
	}
	object, unserved := client.Resolve(object)
	why, err := client.Why(ctx, args[0], object)
	if err != nil {
		return usage(err)
	}
	if unserved != nil && why.Answers[0].Verdict.Reason == trace.NotRecorded {
		return cli.UsageError{Err: fmt.Errorf("argument %q: %w", args[1], unserved)}
	}
	return o.show(out, why)
}

// usage returns the error of a question that the server refuses, such as one about an unknown kind, as a UsageError. It
// returns other errors as they are.
func usage(err error) error {
	if apierrors.IsBadRequest(err) {
		return cli.UsageError{Err: err}
	}
	return err
}

// check returns all errors of the arguments and flags, joined.
func (o *whyOptions) check(args []string) error {
	var errs []error
	switch {
	case o.dryRun && o.file == "":
		errs = append(errs, errors.New("--dry-run: give -f too, the file with the manifest of the object"))
	case o.dryRun && len(args) > 1:
		errs = append(errs, fmt.Errorf("argument %q: leave the argument out, because with --dry-run the manifest of -f names the object", args[1]))
	case !o.dryRun && len(args) < 2:
		errs = append(errs, errors.New("a second argument must name the object: RESOURCE/NAME, such as pods/web"))
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{{"-f", o.file != ""}, {"--operation", o.operation != ""}, {"--subresource", o.subresource != ""}, {"--as", o.as != ""}} {
		if flag.given && !o.dryRun {
			errs = append(errs, fmt.Errorf("%s: give --dry-run too, or leave %[1]s out: the flag describes the request of a dry run", flag.name))
		}
	}
	if len(o.groups) > 0 && o.as == "" {
		errs = append(errs, fmt.Errorf("--as-group %q: give --as too, the user of these groups", o.groups))
	}
	return errors.Join(errs...)
}

// evaluation returns the request that the flags describe.
func (o *whyOptions) evaluation(webhook, namespace string, in io.Reader) (admissiontrace.Evaluation, error) {
	objects, err := loadObjects("-f", o.file, in)
	if err != nil {
		return admissiontrace.Evaluation{}, err
	}
	if len(objects) > 1 {
		return admissiontrace.Evaluation{}, fmt.Errorf("-f %s: must have one object, got %d", o.file, len(objects))
	}
	object := objects[0]
	if object.GetNamespace() == "" {
		object.SetNamespace(cmp.Or(o.namespace, namespace))
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return admissiontrace.Evaluation{}, fmt.Errorf("-f %s: %w", o.file, err)
	}
	return admissiontrace.Evaluation{
		Webhook: webhook, Operation: o.operation, Object: encoded, Subresource: o.subresource, User: o.as, Groups: o.groups,
	}, nil
}

func (o *whyOptions) show(out io.Writer, why admissiontrace.Why) error {
	return o.output.Print(out, why.Answers, func(out io.Writer) error {
		for _, answer := range why.Answers {
			if _, err := fmt.Fprintln(out, answer.Sentence); err != nil {
				return err
			}
		}
		return nil
	})
}
