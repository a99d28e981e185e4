package correspond

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// repository is this one. The path keeps the folder it starts from: go test then knows
// that the result depends on files outside the module, and does not tell an old one.
func repository(t *testing.T) fs.FS {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	return os.DirFS(here + "/../..")
}

// Every model was compared with the code as it is.
func TestModelsWereComparedWithTheCode(t *testing.T) {
	for _, fault := range Check(repository(t)) {
		t.Error(fault)
	}
}

// edited is a repository with other contents in some files.
type edited struct {
	fs.FS
	files fstest.MapFS
}

func (e edited) Open(name string) (fs.File, error) {
	if e.files[name] != nil {
		return e.files.Open(name)
	}
	return e.FS.Open(name)
}

// edit replaces a text that is in a file once.
func edit(t *testing.T, root fs.FS, name, text, to string) edited {
	t.Helper()
	b, err := fs.ReadFile(root, name)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(b), text), "%s has changed: this test is to have another place in it than\n%s", name, text)
	return edited{root, fstest.MapFS{name: {Data: []byte(strings.Replace(string(b), text, to, 1))}}}
}

// compared is the repository as if every model had just been compared with the code, and
// the faults that it has all the same: what the tests below find is beside those.
func compared(t *testing.T) (root edited, faults []string) {
	t.Helper()
	b, _ := open(repository(t))
	require.NotNil(t, b)
	var functions, models []string
	for _, e := range b.entries {
		functions, models = append(functions, e.code.name), append(models, e.model)
	}
	functions, models = slices.DeleteFunc(functions, func(f string) bool { return f == "" }), slices.Sorted(maps.Keys(b.models))
	models = slices.DeleteFunc(models, func(m string) bool { return m == "slot.pml" }) // it only puts others together
	sums, _, err := Looked(repository(t), functions, models)
	require.NoError(t, err)
	root = edited{repository(t), fstest.MapFS{sumsName: {Data: []byte(sums)}}}
	for _, fault := range Check(root) {
		faults = append(faults, fault.Error())
	}
	return root, faults
}

// beside returns the faults that are not known.
func beside(known []string, faults []error) []error {
	return slices.DeleteFunc(faults, func(f error) bool { return slices.Contains(known, f.Error()) })
}

func TestChangesAreFound(t *testing.T) {
	root, known := compared(t)
	for _, c := range []struct {
		what, file, text, to string
		faults               int
		says                 []string
	}{
		{"a step of the code", "shard/take.go", "m.same(w.m) && m.state() == live || s.settle(w.m) {\n\t\t\tif !ok", "m.same(w.m) {\n\t\t\tif !ok", 3, []string{
			"Table.takeOne", "in confirm of taker.pml", "does \"INC(m) == i && ST(m) == LIVE\"", "changed since it was compared with change.pml (load), refund.pml (take), taker.pml (confirm, deny, take)",
			"new:  if m := s.load(); m.same(w.m) {", "in proof: go run ./cmd/model -looked Table.takeOne change.pml refund.pml taker.pml",
		}},
		{"code between steps", "shard/take.go", "\t\tcase n == 0:\n\t\t\tnext = raw // a look", "\t\tcase n < 2:\n\t\t\tnext = raw // a look", 1,
			[]string{"shard/take.go Table.takeOne changed", "new:  case n < 2:", "gone: a line after"}},
		{"a line that is gone", "shard/evict.go", "\tt.raiseFloor(w.i, at)\n\tif !w.s.swap(closed", "\tif !w.s.swap(closed", 3,
			[]string{"t.raiseFloor(w.i, at) is not in the text any more of shard/evict.go Table.drop", "gone: a line after"}},
		{"two steps in turn", "bucket/rollinfo.go", "\t\te := entry(cell.Load())\n\t\tif !c.holds() {\n\t\t\treturn 0, false\n\t\t}\n\t\tm := min(", "\t\tif !c.holds() {\n\t\t\treturn 0, false\n\t\t}\n\t\te := entry(cell.Load())\n\t\tm := min(", 2,
			[]string{"!c.holds() does not come after the step above it any more in the text of bucket/rollinfo.go Limit.void", "in void of ring.pml", "Limit.void ring.pml"}},
		{"a constant", "shard/meta.go", "live                   // visible", "living // visible\n\tlive", 1,
			[]string{"shard/meta.go free changed since it was compared with state.pml (CLOSING, FREE, LIVE, PRIVATE)"}},
		{"a function's name", "shard/gifts.go", "func (g *gifts) end(", "func (g *gifts) finish(", 4,
			[]string{"shard/gifts.go has no gifts.end any more, which counted of refund.pml stands for"}},
		{"the script", "redisync/sync.lua", "charged = e == epoch and", "charged = e >= epoch and", 3,
			[]string{"redisync/sync.lua c1 changed", "-looked c1 redisync.pml"}},
		{"a function of the script", "redisync/sync.lua", "held = held - lease[2]", "held = held - lease[1]", 3,
			[]string{"redisync/sync.lua sweep", "redisync/sync.lua l1 changed", "in sweep of redisynclease.pml"}},
		{"a step of a model", "proof/model/evictor.pml", "d_step { flr = MAX(flr, at) };", "skip;", 2,
			[]string{"flr = MAX(flr, at) is not in the text any more of call: evictor.pml"}},
		{"a label", "proof/model/taker.pml", "\nconfirm:\n", "\nsettle:\n", 3,
			[]string{"taker.pml has no proctype, inline, label or macro confirm any more", "settle of taker.pml is not in the table"}},
		{"a macro", "proof/model/state.pml", "(INC(m)+1) << 7", "(INC(m)+2) << 7", 1,
			[]string{"(INC(m)+1) << 7 is not in the text any more of EMPTIED: state.pml"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			faults := beside(known, Check(edit(t, root, c.file, c.text, c.to)))
			require.Equal(t, c.faults, len(faults), "%v", errors.Join(faults...))
			for _, says := range c.says {
				require.ErrorContains(t, errors.Join(faults...), says)
			}
		})
	}
}

// What says nothing of what is done may change: comments, layout, other code.
func TestWhatDoesNotCount(t *testing.T) {
	root, known := compared(t)
	for _, c := range []struct{ what, file, text, to string }{
		{"a comment in the code", "shard/take.go", "// two changes may lie between the word and the plan", "// so it is\n\n\t\t\t// and so"},
		{"a doc comment", "shard/take.go", "// takeOne takes", "// takeOne, which see, takes"},
		{"spaces", "shard/take.go", "\t\tcase n == 0:\n\t\t\tnext = raw // a look", "\n\t\tcase  n==0 : next   = raw // a look"},
		{"arguments in lines", "shard/evict.go", "t.raiseFloor(w.i, at)\n\tif !w.s.swap(closed", "t.raiseFloor(\n\t\tw.i,\n\t\tat,\n\t)\n\tif !w.s.swap(closed"},
		{"another function", "shard/take.go", "func saturate(n int64) uint32 { return", "func saturate(n int64) uint32 { n++; return"},
		{"a comment in the script", "redisync/sync.lua", "  -- What sweep wrote off must not be lost again.\n", "-- x\n\n"},
		{"a comment in a model", "proof/model/taker.pml", "/* reload meta */\n\t\tm = meta[s];\n\t\tif\n\t\t:: INC(m) != i -> goto moved\n\t\t:: INC(m) == i && ST(m) == LIVE -> took()", "/* x: */ m = meta[s];\n\t\tif\n\t\t:: INC(m) != i -> goto moved\n\t\t:: INC(m) == i && ST(m) == LIVE -> took()"},
	} {
		t.Run(c.what, func(t *testing.T) {
			require.Empty(t, beside(known, Check(edit(t, root, c.file, c.text, c.to))))
		})
	}
}

// tiny is a repository of one model and one function.
func tiny(table, sums string) fstest.MapFS {
	return fstest.MapFS{
		tableName:              {Data: []byte(table)},
		sumsName:               {Data: []byte(sums)},
		"proof/model/door.pml": {Data: []byte("bit door;\nproctype Caller() {\ntry:\n\td = door;\n#ifdef BUG_WIDE\n\twide = 1;\n#endif\n\tdoor = 1\n}\n")},
		"shard/door.go":        {Data: []byte("package shard\n\nfunc (d *door) open() bool {\n\told := d.load()\n\treturn d.swap(old, 1)\n}\n")},
	}
}

const tinyTable = `# a comment
door.pml Caller: none, it begins
door.pml try: shard/door.go door.open
	d = door  <=>  old := d.load()
	door = 1  <=>  d.swap(old, 1)
`

func TestFaultsOfTheTable(t *testing.T) {
	sums, n, err := Looked(tiny(tinyTable, ""), []string{"door.open"}, []string{"door.pml"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, Check(tiny(tinyTable, sums)))
	for _, c := range []struct{ text, to, says string }{
		{"door.pml try:", "door.pml try", "correspondence.txt:3: an entry is"},
		{"door.go door.open", "door.go", "an entry is"},
		{"  <=>  old", " = old", "a step is"},
		{"door.pml Caller: none, it begins\n", "", "Caller of door.pml is not in the table"},
		{"# a comment\n", "\td <=> d\n", "correspondence.txt:1: a step without code above it"},
		{"it begins\n", "it begins\n\td = door <=> d.load()\n", "a step without code above it"},
		{"\td = door  <=>  old := d.load()\n\tdoor = 1  <=>  d.swap(old, 1)\n", "", "no step says what try and door.open have in common"},
		{"door.pml Caller", "gate.pml Caller", "there is no model gate.pml"},
		{"shard/door.go", "shard/gate.go", "file does not exist"},
		{"shard/door.go", "proof/model/door.pml", "neither Go nor Lua"},
		{"door.open\n", "door.close\n", "shard/door.go has no door.close any more"},
		{"d = door ", "wide = 1", "wide = 1 is not in the text any more of try"},
		{"door.pml try: shard/door.go door.open\n\td = door  <=>  old := d.load()\n\tdoor = 1  <=>  d.swap(old, 1)\n", "door.pml try: none, it is gone\n",
			"door.pml and shard/door.go door.open are not in the table together any more"},
	} {
		t.Run(c.says, func(t *testing.T) {
			require.Contains(t, tinyTable, c.text)
			require.ErrorContains(t, errors.Join(Check(tiny(strings.Replace(tinyTable, c.text, c.to, 1), sums))...), c.says)
		})
	}
	require.ErrorContains(t, errors.Join(Check(tiny(tinyTable, ""))...), "nobody has compared shard/door.go door.open with door.pml (try): do, and then, in proof: go run ./cmd/model -looked door.open door.pml")
	require.ErrorContains(t, errors.Join(Check(tiny(tinyTable, "door.pml what\n"))...), "not a line of it")
}

// Looked writes anew what is named, and nothing else.
func TestLooked(t *testing.T) {
	root, _ := compared(t)
	before, err := fs.ReadFile(root, sumsName)
	require.NoError(t, err)
	changed := edit(t, root, "shard/take.go", "\t\tcase n == 0:\n\t\t\tnext = raw // a look", "\t\tcase n < 2:\n\t\t\tnext = raw // a look")
	sums, n, err := Looked(changed, []string{"Table.takeOne"}, []string{"taker.pml"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	was, is := strings.Split(string(before), "\n"), strings.Split(sums, "\n")
	require.Len(t, is, len(was))
	for i := range is {
		if is[i] != was[i] {
			require.Contains(t, is[i], "taker.pml shard/take.go Table.takeOne ")
		}
	}
	require.ErrorContains(t, errors.Join(Check(edited{changed, fstest.MapFS{sumsName: {Data: []byte(sums)}}})...), "compared with change.pml (load), refund.pml (take):", "these two were not looked at")

	sums, n, err = Looked(root, []string{"Table.takeOne"}, []string{"taker.pml", "change.pml"})
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, string(before), sums)
	_, _, err = Looked(root, []string{"Table.takeTwo"}, []string{"taker.pml"})
	require.ErrorContains(t, err, "no entry has Table.takeTwo together with the others named")
	_, _, err = Looked(root, []string{"Table.takeOne"}, []string{"bring.pml"})
	require.ErrorContains(t, err, "no entry has")
}
