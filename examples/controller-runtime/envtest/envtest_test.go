//go:build unix

// Package envtest_test tests the operator with envtest, as scaffolded projects do: with Ginkgo, envtest's own
// installation of definitions and webhooks, and the manager's own webhook server. Only KUBEBUILDER_ASSETS differs: it
// is a folder that "miniapi assets" makes. A project that doesn't have to use envtest starts a server with package
// miniapitest instead, as the operator's own tests do.
package envtest_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // scaffolded projects import it so
	. "github.com/onsi/gomega"    //nolint:revive // scaffolded projects import it so
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	operator "github.com/miniapi-dev/miniapi/examples/controller-runtime"
)

// TestMain builds miniapi and runs "miniapi assets", unless KUBEBUILDER_ASSETS is set.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "assets-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the folder is temporary
	miniapi, assets := filepath.Join(dir, "miniapi"), filepath.Join(dir, "assets")
	for _, args := range [][]string{
		{"go", "build", "-o", miniapi, "github.com/miniapi-dev/miniapi/cmd/miniapi"},
		{miniapi, "assets", assets},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%q: %v\n%s", args, err, out)
			return 1
		}
	}
	if err := os.Setenv("KUBEBUILDER_ASSETS", assets); err != nil { //nolint:forbidigo // envtest reads the variable
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

var (
	ctx       context.Context
	cancel    context.CancelFunc
	testEnv   *envtest.Environment
	k8sClient client.Client
)

func TestOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Operator Suite")
}

var _ = BeforeSuite(func() {
	ctx, cancel = context.WithCancel(context.Background())
	scheme, err := operator.Scheme()
	Expect(err).NotTo(HaveOccurred())
	testEnv = &envtest.Environment{
		Scheme:                scheme,
		CRDDirectoryPaths:     []string{filepath.Join("..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join("..", "config", "webhook")}},
		// The default of 20 seconds can be too little on a busy machine.
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute,
	}
	cfg, err := testEnv.Start()
	Expect(err).NotTo(HaveOccurred())

	k8sClient, err = client.New(cfg, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	webhooks := &testEnv.WebhookInstallOptions
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: webhooks.LocalServingHost, Port: webhooks.LocalServingPort, CertDir: webhooks.LocalServingCertDir,
		}),
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(operator.SetUp(mgr)).To(Succeed())
	go func() {
		defer GinkgoRecover()
		Expect(mgr.Start(ctx)).To(Succeed())
	}()

	address := net.JoinHostPort(webhooks.LocalServingHost, fmt.Sprint(webhooks.LocalServingPort))
	Eventually(func() error {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return err
		}
		return conn.Close()
	}, time.Minute).Should(Succeed())
})

var _ = AfterSuite(func() {
	cancel()
	Expect(testEnv.Stop()).To(Succeed())
})

var _ = Describe("Website", func() {
	website := func(name string, replicas int32) *operator.Website {
		return &operator.Website{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       operator.WebsiteSpec{Image: "nginx", Replicas: replicas},
		}
	}

	It("has a deployment, with the defaulter's replicas", func() {
		Expect(k8sClient.Create(ctx, website("blog", 0))).To(Succeed())
		deployment := &appsv1.Deployment{}
		Eventually(func() error {
			return k8sClient.Get(ctx, client.ObjectKey{Namespace: "default", Name: "blog"}, deployment)
		}, time.Minute).Should(Succeed())
		Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(2))
	})

	It("is refused with too many replicas", func() {
		Expect(apierrors.IsForbidden(k8sClient.Create(ctx, website("shop", 11)))).To(BeTrue())
	})

	It("is converted from the earlier version", func() {
		earlier := &operator.EarlierWebsite{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"},
			Spec:       operator.EarlierWebsiteSpec{Image: "nginx", Copies: 3},
		}
		Expect(k8sClient.Create(ctx, earlier)).To(Succeed())
		now := &operator.Website{}
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(earlier), now)).To(Succeed())
		Expect(now.Spec.Replicas).To(BeEquivalentTo(3))
	})

	It("is there for users who may see it", func() {
		user, err := testEnv.AddUser(envtest.User{Name: "alice", Groups: []string{"system:masters"}}, nil)
		Expect(err).NotTo(HaveOccurred())
		alice, err := client.New(user.Config(), client.Options{Scheme: testEnv.Scheme})
		Expect(err).NotTo(HaveOccurred())
		Expect(alice.List(ctx, &operator.WebsiteList{})).To(Succeed())
	})
})
