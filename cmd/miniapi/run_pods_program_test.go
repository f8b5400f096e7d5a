package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// podProgram makes the test binary the program of a container: a webhook that refuses every object, with the message of
// a ConfigMap.
const podProgram = "pod-program"

// servePod is the program of the container. Its arguments are the address, the folder of the certificate and the file
// with the message.
func servePod(args []string) int {
	err := func() error {
		config, err := rest.InClusterConfig()
		if path := os.Getenv("KUBECONFIG"); path != "" { // as controller-runtime does
			config, err = clientcmd.BuildConfigFromFlags("", path)
		}
		if err != nil {
			return err
		}
		typed, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		own, err := typed.AuthenticationV1().SelfSubjectReviews().Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		child := exec.Command("sleep", "3600")
		if err := child.Start(); err != nil {
			return err
		}
		fmt.Printf("user %s\nprocesses %d %d\n", own.Status.UserInfo.Username, os.Getpid(), child.Process.Pid)
		message := func() string {
			text, err := os.ReadFile(args[2])
			return string(text) + fmt.Sprint(err)
		}
		http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
			if strings.HasPrefix(message(), "unready") {
				http.Error(w, "unready", http.StatusServiceUnavailable)
			}
		})
		http.HandleFunc("/crash", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
		http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			review := admissionv1.AdmissionReview{}
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: message()}}
			_ = json.NewEncoder(w).Encode(review)
		})
		server := http.Server{Addr: args[0], ReadHeaderTimeout: time.Minute}
		return server.ListenAndServeTLS(filepath.Join(args[1], "tls.crt"), filepath.Join(args[1], "tls.key"))
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}
