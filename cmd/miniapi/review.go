package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/review"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/trust"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/kustomization"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/requests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews/replay"
)

// reviewOptions are the flags of "miniapi review".
type reviewOptions struct {
	file, old      string
	patch          string
	operation      string
	collection     bool
	subresource    string
	name           string
	namespace      string
	as             rest.ImpersonationConfig
	asExtra        []string
	request        requests.Options
	reviewVersion  string
	validating     bool
	webhookVersion string
	timeout        time.Duration
	apply          []string
	output         output.Format
	url            string
	trust          trust.Options
}

// unset is the value of --grace-period that leaves the period to the server, as in kubectl.
const unset = -1

func newReviewCommand() *cobra.Command {
	o := &reviewOptions{output: output.Format{Name: output.JSON}}
	cmd := &cobra.Command{
		Use:   "review -f FILE [flags]",
		Short: "Print the AdmissionReview that a webhook gets for an object",
		Long: `Print the AdmissionReview that a webhook gets for a request with an object: with its defaults,
after conversion and the plugins before the webhook. A temporary server makes the review; it has the
definitions and objects of --apply, and the object's namespace.

With --url, the review is sent to a webhook. The command prints its response, and what the server
makes of it: whether the uid and the version are right, whether the patch applies, and whether
the object is valid then. The exit code is 1 if not.`,
		Example: `  miniapi review -f pod.yaml
  miniapi review -f new.yaml --old old.yaml --as jane
  miniapi review -f deployment.yaml --operation UPDATE --subresource scale
  miniapi review -f pod.yaml --operation DELETE --grace-period 0
  miniapi review -f pod.yaml --subresource proxy --name web:8080
  miniapi review -f widget.yaml --apply config/crd --url https://localhost:9443/mutate --ca ca.crt`,
		Args: cli.UsageArgs(cli.FlagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "`FILE` with the object of the request, or the one that is deleted or connected to, or the patch of --patch. With -, standard input.")
	flags.StringVar(&o.old, "old", "", "`FILE` with the object before an update, by default the object itself; or the object whose subresource -f has, such as the Pod of an Eviction.")
	flags.StringVar(&o.operation, "operation", "", "`OPERATION`: CREATE, UPDATE, DELETE or CONNECT. By default, CREATE, UPDATE with --old, and CONNECT for subresources that are connected to.")
	flags.BoolVar(&o.collection, "collection", false, "Delete the objects of -f as a collection: each has a review.")
	flags.StringVar(&o.patch, "patch", "", "Make the request by a patch of this `TYPE`, which -f has: apply, merge, strategic or json. --old has the object.")
	flags.StringVar(&o.subresource, "subresource", "", "Subresource `NAME` of the request, such as scale or status.")
	flags.StringVar(&o.name, "name", "", "`NAME` in the path of a connection, if it isn't that of the object: web:8080, or https:web:8443.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "`NAMESPACE` of objects that have none. By default, \"default\".")
	flags.StringVar(&o.as.UserName, "as", "", "`USER` who makes the request. By default, the admin.")
	flags.StringArrayVar(&o.as.Groups, "as-group", nil, "`GROUP` of the user. May be repeated.")
	flags.StringVar(&o.as.UID, "as-uid", "", "`UID` of the user.")
	flags.StringArrayVar(&o.asExtra, "as-user-extra", nil, "Extra `KEY=VALUE` of the user. May be repeated.")
	flags.BoolVar(&o.request.DryRun, "dry-run", false, "Make the request a dry run.")
	flags.StringVar(&o.request.FieldManager, "field-manager", "", "Field manager `NAME` of the write. By default, none, and miniapi with --patch apply.")
	flags.StringVar(&o.request.FieldValidation, "field-validation", "", "Field validation `LEVEL` of the write: Ignore, Warn or Strict.")
	flags.BoolVar(&o.request.Force, "force", false, "Take fields from other managers, with --patch apply.")
	flags.BoolVar(&o.request.Replace, "replace", false, "Update by the object as it is in -f, without the metadata that the server has set, such as the uid.")
	flags.Int64Var(&o.request.GracePeriod, "grace-period", unset, "`SECONDS` of grace of the deletion. With -1, the server's default.")
	flags.StringVar(&o.request.PropagationPolicy, "propagation-policy", "", "Propagation `POLICY` of the deletion: Background, Foreground or Orphan.")
	flags.BoolVar(&o.request.Preconditions, "preconditions", false, "Delete the object only with its uid and resource version.")
	flags.StringVar(&o.reviewVersion, "review-version", "v1", "`VERSION` of the review: v1 or v1beta1.")
	flags.BoolVar(&o.validating, "validating", false, "Make the webhook a validating one. By default, it is a mutating one.")
	flags.StringVar(&o.webhookVersion, "webhook-version", "", "`GROUP/VERSION` for which the webhook is registered, to which the object is converted. By default, that of the object.")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "timeoutSeconds of the webhook, which must respond to --url in this `DURATION`: from 1s to 30s.")
	flags.StringArrayVar(&o.apply, "apply", nil, "Apply the manifests of this `PATH` before: a file, a folder, a glob, a kustomization, or - for standard input. May be repeated.")
	o.output.AddFlag(cmd, "Format: json or yaml.", output.JSON, output.YAML)
	flags.StringVar(&o.url, "url", "", "Send the review to the webhook at this `URL`, and judge its response.")
	o.trust.AddFlags(flags)
	return cmd
}

func (o *reviewOptions) run(ctx context.Context, in io.Reader, out, errOut io.Writer) error {
	request, err := o.asked(in)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	webhook, err := o.webhook()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	objects, err := kustomization.Load(ctx, manifests.Reader{}, o.apply, in)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--apply: %w", err)}
	}
	outcome, err := o.made(ctx, request, webhook, objects, errOut)
	if unfit := (review.InputError{}); errors.As(err, &unfit) {
		return cli.UsageError{Err: err}
	}
	if err != nil {
		return err
	}
	if o.url == "" {
		return o.print(out, outcome, func(e review.Exchange) []byte { return e.Review })
	}
	if err := o.print(out, outcome, func(e review.Exchange) []byte { return e.Response }); err != nil {
		return err
	}
	for _, warning := range outcome.Warnings {
		fmt.Fprintf(errOut, "Warning: %s\n", warning)
	}
	verdict, err := outcome.Judge(o.timeout)
	if err == nil {
		fmt.Fprintln(errOut, verdict)
	}
	return o.trust.Explain(err)
}

// patches returns the patch types by the values of --patch.
func patches() map[string]types.PatchType {
	return map[string]types.PatchType{
		"apply": types.ApplyPatchType, "merge": types.MergePatchType, "strategic": types.StrategicMergePatchType,
		"json": types.JSONPatchType,
	}
}

// asked returns the request that the flags describe. The argument in is standard input.
func (o *reviewOptions) asked(in io.Reader) (request requests.Request, err error) {
	request = requests.Request{
		Operation: admissionv1.Operation(strings.ToUpper(o.operation)), Collection: o.collection,
		Subresource: o.subresource, Name: o.name, Namespace: o.namespace, Options: o.request, As: o.as,
	}
	if o.file == "" {
		return request, errors.New("-f must name a file with the object")
	}
	for _, extra := range o.asExtra {
		key, value, found := strings.Cut(extra, "=")
		if !found || key == "" {
			return request, fmt.Errorf("--as-user-extra %q: must be KEY=VALUE", extra)
		}
		if request.As.Extra == nil {
			request.As.Extra = map[string][]string{}
		}
		request.As.Extra[key] = append(request.As.Extra[key], value)
	}
	if o.old != "" {
		old, err := loadObjects("--old", o.old, in)
		if err != nil {
			return request, err
		}
		if len(old) != 1 {
			return request, fmt.Errorf("--old %s: must have one object, got %d", o.old, len(old))
		}
		request.Old = old[0]
	}
	if o.patch != "" {
		if err := o.patched(&request, in); err != nil {
			return request, err
		}
		return request, review.Named(request.Check())
	}
	if request.Objects, err = loadObjects("-f", o.file, in); err != nil {
		return request, err
	}
	return request, review.Named(request.Check())
}

// patched reads the patch of a request.
func (o *reviewOptions) patched(request *requests.Request, in io.Reader) error {
	kind, known := patches()[o.patch]
	if !known {
		return fmt.Errorf("--patch %q: must be apply, merge, strategic or json", o.patch)
	}
	content, err := readInput(o.file, in)
	if err != nil {
		return fmt.Errorf("-f: %w", err)
	}
	request.Patch = &requests.Patch{Type: kind}
	if request.Patch.Body, err = yaml.YAMLToJSON(content); err != nil {
		return fmt.Errorf("-f %s: %w", o.file, err)
	}
	if kind != types.ApplyPatchType {
		return nil
	}
	request.Options.FieldManager = cmp.Or(request.Options.FieldManager, "miniapi")
	request.Objects, err = decodeObjects("-f", o.file, content)
	return err
}

// webhook returns the webhook that the flags describe.
func (o *reviewOptions) webhook() (webhook review.Webhook, err error) {
	webhook = review.Webhook{ReviewVersion: o.reviewVersion, Validating: o.validating, Timeout: o.timeout}
	switch {
	case o.reviewVersion != "v1" && o.reviewVersion != "v1beta1":
		return webhook, fmt.Errorf("--review-version %q: must be v1 or v1beta1", o.reviewVersion)
	case o.timeout < time.Second || o.timeout > trust.CallTimeout || o.timeout%time.Second != 0:
		return webhook, fmt.Errorf("--timeout %s: must be a number of seconds from 1s to 30s", o.timeout)
	}
	if webhook.Version, err = schema.ParseGroupVersion(o.webhookVersion); err != nil {
		return webhook, fmt.Errorf("--webhook-version %q: must be GROUP/VERSION: %w", o.webhookVersion, err)
	}
	if o.url == "" {
		return webhook, nil
	}
	client, err := o.trust.Client()
	if err != nil {
		return webhook, err
	}
	target, err := replay.ToURL(client, o.url)
	if err != nil {
		return webhook, fmt.Errorf("--url %w", err)
	}
	webhook.Answer = func(ctx context.Context, query string, review []byte) (int, []byte, error) {
		return target(ctx, "?"+query, review)
	}
	return webhook, nil
}

// made runs a server, makes the request, and returns the result.
func (o *reviewOptions) made(ctx context.Context, request requests.Request, webhook review.Webhook, objects []manifests.Object, errOut io.Writer) (outcome *review.Outcome, err error) {
	// Run only the controllers that admission needs. Other controllers could change the stored object before the
	// request.
	selection := controllers.Selection{"serviceaccount-controller", "clusterrole-aggregation-controller"}
	if len(objects) > 0 {
		selection = append(selection, "resourcequota-controller") // without this controller, a quota is not in force
	}
	server := temporaryServer{controllers: selection, objects: objects}
	err = server.do(ctx, errOut, func(ctx context.Context, config *rest.Config) error {
		var err error
		outcome, err = review.Do(ctx, config, request, webhook)
		return err
	})
	return outcome, err
}

// print prints one body of each exchange, unless the body is empty. The parameter "of" returns the body of an exchange.
// print prints a JSON body in the format of the flags, and any other body unchanged.
func (o *reviewOptions) print(out io.Writer, outcome *review.Outcome, of func(review.Exchange) []byte) error {
	printed := false
	for _, exchange := range outcome.Exchanges {
		body := bytes.TrimSpace(of(exchange))
		if len(body) == 0 {
			continue
		}
		text := append(bytes.Clone(body), '\n')
		var indented bytes.Buffer
		if json.Indent(&indented, body, "", "  ") == nil {
			text = append(indented.Bytes(), '\n')
			if o.output.Name == output.YAML {
				var err error
				if text, err = yaml.JSONToYAML(body); err != nil {
					return err
				}
			}
		}
		if printed && o.output.Name == output.YAML {
			text = append([]byte("---\n"), text...)
		}
		printed = true
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}
