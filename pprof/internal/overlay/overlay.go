// Package overlay builds programs of this repository with a statement more, without
// touching its files: go build -overlay reads the changed copies in their place.
//
// So a program that ends by os.Exit can be profiled, and a fault can be put into the
// real decision path to see whether it is found.
package overlay

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Overlay collects changed and added files.
type Overlay struct {
	dir     string            // of the copies
	replace map[string]string // by the path of the file that a copy stands for
}

// New returns an overlay that keeps its files in dir.
func New(dir string) *Overlay { return &Overlay{dir, map[string]string{}} }

// Add adds a file to the package in pkgDir.
func (o *Overlay) Add(pkgDir, name, text string) error {
	return o.put(filepath.Join(pkgDir, name), []byte(text))
}

// Begin has a function of the package in pkgDir begin with a statement. The function
// is named as in "run" or "Handle.AllowAt"; of a receiver that is a pointer the star
// is left out.
func (o *Overlay) Begin(pkgDir, function, statement string) error {
	names, err := filepath.Glob(filepath.Join(pkgDir, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		if copied, ok := o.replace[path]; ok {
			name = copied
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		at, err := body(name, src, function)
		if err != nil {
			return err
		}
		if at > 0 {
			changed := append([]byte(nil), src[:at]...)
			changed = append(append(append(changed, ' '), statement...), ';')
			return o.put(path, append(changed, src[at:]...))
		}
	}
	return fmt.Errorf("no function %s in the package in %s: it was renamed or moved; name it as it is called now", function, pkgDir)
}

// body returns where the statements of a function begin, 0 if it is not in the file.
func body(name string, src []byte, function string) (int, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return 0, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && funcName(f) == function {
			return set.Position(f.Body.Lbrace).Offset + 1, nil
		}
	}
	return 0, nil
}

func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return ""
}

func (o *Overlay) put(path string, text []byte) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	copied, ok := o.replace[path]
	if !ok {
		copied = filepath.Join(o.dir, strconv.Itoa(len(o.replace))+".go")
		o.replace[path] = copied
	}
	return os.WriteFile(copied, text, 0o600)
}

// Flag writes the list of files and returns the flag for go build.
func (o *Overlay) Flag() (string, error) {
	text, err := json.Marshal(map[string]any{"Replace": o.replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(o.dir, "overlay.json")
	return "-overlay=" + list, os.WriteFile(list, text, 0o600)
}
