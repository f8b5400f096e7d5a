package miniapitest_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

func BenchmarkStart(b *testing.B) {
	var stop time.Duration
	for b.Loop() {
		srv, err := miniapitest.New(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := srv.Stop(); err != nil {
			b.Fatal(err)
		}
		stop += time.Since(began)
	}
	b.ReportMetric(float64(stop.Milliseconds())/float64(b.N), "ms-stop/op")
}

func BenchmarkReset(b *testing.B) {
	srv := miniapitest.Start(b)
	maps := srv.Client().CoreV1().ConfigMaps("default")
	for b.Loop() {
		b.StopTimer()
		for i := range 100 {
			if _, err := maps.Create(b.Context(), configMap(fmt.Sprint("m", i)), metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := srv.Reset(); err != nil {
			b.Fatal(err)
		}
	}
}
