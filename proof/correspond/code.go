package correspond

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// code names a piece of the repository's code.
type code struct{ file, name string }

func (c code) String() string { return c.file + " " + c.name }

// library reads code, each file once.
type library struct {
	root  fs.FS
	files map[string]*source
}

// source is a file of code: its text, and where its declarations begin and end.
type source struct {
	text string
	at   map[string][2]int
}

// read returns the tokens of c, and its text.
func (l *library) read(c code) ([]token, string, error) {
	f := l.files[c.file]
	if f == nil {
		text, err := fs.ReadFile(l.root, c.file)
		if err != nil {
			return nil, "", err
		}
		f = &source{text: string(text)}
		switch path.Ext(c.file) {
		case ".go":
			f.at, err = goDecls(f.text)
		case ".lua":
			f.at = luaBlocks(f.text)
		default:
			err = fmt.Errorf("neither Go nor Lua")
		}
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", c.file, err)
		}
		l.files[c.file] = f
	}
	at, ok := f.at[c.name]
	if !ok {
		return nil, "", fmt.Errorf("%s has no %s any more", c.file, c.name)
	}
	text := f.text[at[0]:at[1]]
	return tokens(c.file, text), text, nil
}

// goDecls finds the declarations of a Go file by name: a method's is Type.method. Others
// than functions are all of their group: constants by iota depend on those before.
func goDecls(text string) (map[string][2]int, error) {
	files := gotoken.NewFileSet()
	f, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := map[string][2]int{}
	note := func(name string, n ast.Node) {
		at[name] = [2]int{files.Position(n.Pos()).Offset, files.Position(n.End()).Offset}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			note(receiver(d)+d.Name.Name, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					note(s.Name.Name, d)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						note(n.Name, d)
					}
				}
			}
		}
	}
	return at, nil
}

// receiver is a method's type and a dot, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if i, ok := t.(*ast.IndexExpr); ok {
		t = i.X
	}
	if n, ok := t.(*ast.Ident); ok {
		return n.Name + "."
	}
	return ""
}

// luaBegin is where a local function begins, or what the script does for an operation.
var luaBegin = regexp.MustCompile(`(?m)^([ \t]*)(?:local function (\w+)\(|if op == '(\w+)')`)

// luaBlocks finds the local functions and operations of a Lua file by name. A block ends
// with the next end that is indented like its beginning, or in its line.
func luaBlocks(text string) map[string][2]int {
	at := map[string][2]int{}
	for _, m := range luaBegin.FindAllStringSubmatchIndex(text, -1) {
		group := 4
		if m[group] < 0 {
			group = 6
		}
		end := len(text)
		line, _, _ := strings.Cut(text[m[0]:], "\n")
		if strings.HasSuffix(strings.TrimSpace(line), " end") {
			end = m[0] + len(line)
		} else if last := "\n" + text[m[2]:m[3]] + "end\n"; strings.Contains(text[m[0]:]+"\n", last) {
			end = m[0] + strings.Index(text[m[0]:]+"\n", last) + len(last) - 1
		}
		at[text[m[group]:m[group+1]]] = [2]int{m[0], end}
	}
	return at
}
