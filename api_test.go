package tickgate_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateAPI = flag.Bool("update-api", false, "write what the packages export to testdata/api")

// public are the packages that programs import, those of nested modules too: all modules
// are released together.
var public = []string{
	".", "bucket", "clock", "policy", "policy/venue", "shard", "idem", "idem/idemtest", "ratecompat", "adapter/httplimit",
	"adapter/grpclimit", "adapter/promlimit", "adapter/envoyrls", "adapter/pgconfig", "redisync", "redisync/admitted",
}

// What the packages export is as it was written down. A line that goes, or changes, breaks
// programs: it needs a line in the changelog, and after version 1 another major version.
func TestAPI(t *testing.T) {
	for _, dir := range public {
		got := exported(t, dir)
		name := "tickgate"
		if dir != "." {
			name = strings.ReplaceAll(dir, "/", "_")
		}
		golden := filepath.Join("testdata", "api", name+".txt")
		if *updateAPI {
			require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			continue
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "%s exports something else than before: if it is meant, make api, and say it in CHANGELOG.md", dir)
	}
}

// exported returns the declarations that the package in dir exports, without comments
// and bodies, in the order of go doc.
func exported(t *testing.T, dir string) string {
	t.Helper()
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = "linux", "amd64", false // one answer everywhere
	ctx.BuildTags = nil
	pkg, err := ctx.ImportDir(dir, 0)
	require.NoError(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, "x", doc.PreserveAST)
	require.NoError(t, err)
	var out bytes.Buffer
	write := func(d ast.Decl) {
		if f, ok := d.(*ast.FuncDecl); ok {
			own := *f
			own.Body, own.Doc = nil, nil
			d = &own
		}
		require.NoError(t, (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&out, fset, bare(d)))
		out.WriteByte('\n')
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			write(v.Decl)
		}
	}
	funcs := func(all []*doc.Func) {
		for _, f := range all {
			write(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, typ := range p.Types {
		write(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	return out.String()
}

// bare takes comments and what is not exported out of a declaration.
func bare(d ast.Decl) ast.Decl {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.StructType:
			n.Fields.List = visible(n.Fields.List)
		case *ast.InterfaceType:
			n.Methods.List = visible(n.Methods.List)
		}
		return true
	})
	return d
}

func visible(all []*ast.Field) (out []*ast.Field) {
	for _, f := range all {
		f.Doc, f.Comment = nil, nil
		keep := len(f.Names) == 0 // embedded
		for _, n := range f.Names {
			keep = keep || n.IsExported()
		}
		if keep {
			out = append(out, f)
		}
	}
	return out
}
