package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/review"
	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews/replay"
)

// reviewOptions are the flags of "miniapi review".
type reviewOptions struct {
	file, old      string
	operation      string
	subresource    string
	as             string
	asGroups       []string
	dryRun         bool
	reviewVersion  string
	validating     bool
	webhookVersion string
	apply          []string
	output         string
	url            string
	trust          trustOptions
}

func newReviewCommand() *cobra.Command {
	o := &reviewOptions{}
	cmd := &cobra.Command{
		Use:   "review -f FILE [flags]",
		Short: "Print the AdmissionReview that a webhook gets for an object",
		Long: `Print the AdmissionReview that a webhook gets for a request with an object: with its defaults,
after conversion and the plugins before the webhook. A server runs for that alone; it has the
definitions and objects of --apply, and the object's namespace.

With --url, the review is sent to a webhook. The command prints its response, and what the server
makes of it: whether the uid and the version are right, whether the patch applies, and whether
the object is valid then. The exit code is 1 if not.`,
		Example: `  miniapi review -f pod.yaml
  miniapi review -f new.yaml --old old.yaml --operation UPDATE --as jane
  miniapi review -f deployment.yaml --operation UPDATE --subresource scale
  miniapi review -f widget.yaml --apply config/crd --url https://localhost:9443/mutate --ca ca.crt`,
		Args: cli.UsageArgs(cli.FlagsAlone),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "`File` with the object of the request, or the one that is deleted or connected to.")
	flags.StringVar(&o.old, "old", "", "`File` with the object before an update, by default the object itself; or the object whose subresource -f has, such as the Pod of an Eviction.")
	flags.StringVar(&o.operation, "operation", string(admissionv1.Create), "CREATE, UPDATE, DELETE or CONNECT.")
	flags.StringVar(&o.subresource, "subresource", "", "Subresource of the request, such as scale or status.")
	flags.StringVar(&o.as, "as", "", "`User` who makes the request. By default, the admin.")
	flags.StringArrayVar(&o.asGroups, "as-group", nil, "`Group` of the user. May be repeated.")
	flags.BoolVar(&o.dryRun, "dry-run", false, "Make the request a dry run.")
	flags.StringVar(&o.reviewVersion, "review-version", "v1", "Version of the review: v1 or v1beta1.")
	flags.BoolVar(&o.validating, "validating", false, "Make the webhook a validating one. By default, it is a mutating one.")
	flags.StringVar(&o.webhookVersion, "webhook-version", "", "`Group/version` for which the webhook is registered, to which the object is converted. By default, that of the object.")
	flags.StringArrayVar(&o.apply, "apply", nil, "Apply the manifests of this `path` before. May be repeated.")
	flags.StringVarP(&o.output, "output", "o", "json", "Format: json or yaml.")
	flags.StringVar(&o.url, "url", "", "Send the review to the webhook at this `URL`, and judge its response.")
	o.trust.addFlags(flags)
	return cmd
}

func (o *reviewOptions) run(ctx context.Context, out, errOut io.Writer) error {
	request, webhook, err := o.request()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	objects, err := manifests.Load(o.apply...)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--apply: %w", err)}
	}
	outcome, err := o.made(ctx, request, webhook, objects, errOut)
	if err != nil {
		return err
	}
	if o.url == "" {
		return o.print(out, outcome.Review)
	}
	if outcome.Unreachable == nil {
		if err := o.print(out, outcome.Response); err != nil {
			return err
		}
	}
	verdict, err := outcome.Judge()
	if err == nil {
		fmt.Fprintln(errOut, verdict)
	}
	return err
}

// request returns the request and the webhook that the flags describe.
func (o *reviewOptions) request() (request review.Request, webhook review.Webhook, err error) {
	request = review.Request{
		Operation: admissionv1.Operation(strings.ToUpper(o.operation)), Subresource: o.subresource,
		User: o.as, Groups: o.asGroups, DryRun: o.dryRun,
	}
	webhook = review.Webhook{ReviewVersion: o.reviewVersion, Validating: o.validating}
	switch {
	case o.file == "":
		return request, webhook, errors.New("-f must name a file with the object")
	case o.reviewVersion != "v1" && o.reviewVersion != "v1beta1":
		return request, webhook, fmt.Errorf("--review-version %q: must be v1 or v1beta1", o.reviewVersion)
	case o.output != "json" && o.output != "yaml":
		return request, webhook, fmt.Errorf("--output %q: must be json or yaml", o.output)
	case o.as == "" && len(o.asGroups) > 0:
		return request, webhook, errors.New("--as-group: needs --as")
	}
	if request.Object, err = loadRequest(o.file); err != nil {
		return request, webhook, err
	}
	if o.old != "" {
		if request.Old, err = loadOne("--old", o.old); err != nil {
			return request, webhook, err
		}
	}
	if webhook.Version, err = schema.ParseGroupVersion(o.webhookVersion); err != nil {
		return request, webhook, fmt.Errorf("--webhook-version %q: must be GROUP/VERSION: %w", o.webhookVersion, err)
	}
	if o.url != "" {
		client, err := o.trust.client()
		if err != nil {
			return request, webhook, err
		}
		target, err := replay.ToURL(client, o.url)
		if err != nil {
			return request, webhook, fmt.Errorf("--url %w", err)
		}
		webhook.Answer = func(ctx context.Context, review []byte) (int, []byte, error) { return target(ctx, "", review) }
	}
	return request, webhook, request.Check()
}

// loadOne reads a file with one object of a kind that can be stored.
func loadOne(flag, file string) (*unstructured.Unstructured, error) {
	objects, err := manifests.Load(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s %s: must have one object, got %d", flag, file, len(objects))
	}
	return objects[0].Unstructured, nil
}

// loadRequest reads the file of -f, with one object. The object may be of a kind that is never stored, such as a
// SubjectAccessReview or PodExecOptions.
func loadRequest(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-f: %w", err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)+1)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("-f %s: %w", file, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
	switch {
	case len(objects) != 1:
		return nil, fmt.Errorf("-f %s: must have one object, got %d", file, len(objects))
	case objects[0].GetKind() == "" || objects[0].GetAPIVersion() == "":
		return nil, fmt.Errorf("-f %s: the object must have apiVersion and kind", file)
	}
	return objects[0], nil
}

// made runs a server, makes the request, and returns the result.
func (o *reviewOptions) made(ctx context.Context, request review.Request, webhook review.Webhook, objects []manifests.Object, errOut io.Writer) (outcome *review.Outcome, err error) {
	server := disposable{controllers: controllers.Selection{controllers.All}, objects: objects}
	err = server.do(ctx, errOut, func(ctx context.Context, config *rest.Config) error {
		var err error
		outcome, err = review.Do(ctx, config, request, webhook)
		return err
	})
	return outcome, err
}

// print prints a body in the format of the flags if the body is JSON. Otherwise it prints the body unchanged.
func (o *reviewOptions) print(out io.Writer, body []byte) error {
	var text []byte
	var indented bytes.Buffer
	switch {
	case json.Indent(&indented, bytes.TrimSpace(body), "", "  ") != nil:
		text = append(bytes.TrimSpace(body), '\n')
	case o.output == "yaml":
		var err error
		if text, err = yaml.JSONToYAML(body); err != nil {
			return err
		}
	default:
		text = append(indented.Bytes(), '\n')
	}
	_, err := out.Write(text)
	return err
}
