// Build finds the miniapi program for package miniapitest, as the first test would, and prints its path. If there is
// none, Build downloads or builds it:
//
//	go run github.com/miniapi-dev/miniapi/pkg/miniapitest/build
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/program"
)

func main() {
	path, err := program.Find(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "miniapitest:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
