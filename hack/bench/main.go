// Command bench measures an API server: with -binary, miniapi's start, memory and stop, and then its
// throughput; with -kubeconfig, the throughput of any server, for comparison. It uses client-go alone
// and is not for production clusters: it fills them with ConfigMaps, and removes them again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	binary := flag.String("binary", "", "the miniapi to start and measure")
	kubeconfig := flag.String("kubeconfig", "", "the running server to measure instead")
	rounds := flag.Int("rounds", 5, "how often -binary is started; the figures are medians")
	flag.Parse()

	report := func(name, format string, values ...any) {
		fmt.Printf("%-26s%s\n", name, fmt.Sprintf(format, values...))
	}

	switch {
	case *kubeconfig != "":
		return measureLoad(ctx, *kubeconfig, report)
	case *binary != "":
		return measureBinary(ctx, *binary, *rounds, report)
	default:
		return fmt.Errorf("one of -binary and -kubeconfig is needed")
	}
}

// measureBinary starts and stops the binary, then puts load on one more of it.
func measureBinary(ctx context.Context, binary string, rounds int, report reportFunc) error {
	path, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	starts, stops := make([]time.Duration, 0, rounds), make([]time.Duration, 0, rounds)
	for range rounds {
		server, err := start(ctx, path)
		if err != nil {
			return err
		}
		stopped, err := server.stop()
		if err != nil {
			return err
		}
		starts, stops = append(starts, server.started), append(stops, stopped)
	}
	report("from exec to ready", "%s", rounded(median(starts)))
	report("from SIGTERM to exit", "%s", rounded(median(stops)))

	server, err := start(ctx, path)
	if err != nil {
		return err
	}
	idle, err := server.idleMemory(ctx)
	if err == nil {
		report("resident when idle", "%d MB", idle>>20)
		err = measureLoad(ctx, server.kubeconfig, report)
	}
	if _, stopErr := server.stop(); err == nil {
		err = stopErr
	}
	return err
}

type reportFunc func(name, format string, values ...any)

func median(durations []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

func rounded(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
