package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tickgate/tickgate/proof/correspond"
)

// look writes down that somebody compared models with functions, and returns the exit
// status.
func look(functions string, models []string) int {
	if len(models) == 0 {
		fmt.Fprintln(os.Stderr, "model: name the models that you compared with the code, such as: -looked Table.takeOne taker.pml")
		return 2
	}
	root := ".." // this is run in the folder proof
	sums, n, err := correspond.Looked(os.DirFS(root), strings.Split(functions, ","), models)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, correspond.SumsName()), []byte(sums), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		return 2
	}
	fmt.Printf("%s: %d lines are new\n", correspond.SumsName(), n)
	faults := correspond.Check(os.DirFS(root))
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if len(faults) > 0 {
		return 1
	}
	return 0
}
